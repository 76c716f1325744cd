# Toolchains for the last stage of `Dockerfile`, where no registry of images can be reached. They lie where the public
# images have them. The context, with Node and Rust below `root/`, is made by `cargo xtask image --resident`.
ARG BASE
FROM ${BASE}
ARG GO
# Go of the distribution, as one folder without links into the rest of the system.
RUN apt-get update \
    && apt-get install -y --no-install-recommends "golang-${GO%.*}-go" \
    && cp -aL "/usr/lib/go-${GO%.*}" /usr/local/go \
    && rm -rf "/usr/lib/go-${GO%.*}" "/usr/share/go-${GO%.*}" /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
COPY root/ /
RUN ln -s ../lib/node_modules/corepack/dist/corepack.js /usr/local/bin/corepack
