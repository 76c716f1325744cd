//! Everything a hostile caller leaves on a resident, and how the next caller looks for it.
//!
//! Two subjects' drills run these commands, on a single machine and in containers. Not here: who
//! runs them.

/// The word in everything that is planted. No command contains it, so only what was planted shows it.
pub const PLANTED: &str = "planted-by-another";
/// The last line in [`HONEST`].
pub const PASSED: &str = "honest-work-passed";

/// Shell commands that plant the word wherever their user may write.
/// Dot files, caches, dependencies and build results, temporary folders, objects and refs, and processes.
pub const PLANT: &str = r##"
word=planted; word=$word-by-another; tree=$(pwd -P)
for place in / "$HOME" "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm /run; do
    find "$place" -xdev \( -path /proc -o -path /sys -o -path "$tree" \) -prune -o -type d -writable -print
done 2> /dev/null | while read -r folder; do echo "$word" > "$folder/$word"; done 2> /dev/null
for file in .bashrc .profile .npmrc .config/pip/pip.conf .cargo/config.toml .config/git/attributes .local/bin/make; do
    mkdir -p "$(dirname ~/$file)"; echo "# $word" >> ~/$file; chmod 755 ~/$file
done
mkdir -p ~/.config/git ~/hooks; echo '*' > ~/.config/git/ignore
printf '#!/bin/sh\necho %s\nexit 1\n' "$word" | tee ~/hooks/pre-commit > ~/hooks/commit-msg; chmod 755 ~/hooks/*
printf '[core]\n\tfsmonitor = echo %s\n\thooksPath = %s/hooks\n[user]\n\tname = %s\n' "$word" ~ "$word" > ~/.gitconfig
for folder in node_modules dist; do
    chmod -R u+w $folder/. && find -L $folder -type f -exec sh -c 'echo "$0" >> "$1"' "$word" {} \;
    echo "$word" > "$folder/$word"
done 2> /dev/null
export HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent
git config user.name "$word"; git config user.email "$word@localhost"; git config core.fsmonitor "echo $word"
echo "$word" > stashed && git add -f stashed && git stash -q
echo "$word" > committed && git add -f committed && git commit -qm "$word"
git branch -f "$word"; git tag -f "$word"; git update-ref "refs/ars/$word" HEAD; git update-ref "refs/remotes/origin/$word" HEAD
(setsid bash -c "exec -a $word tail -f /dev/null" &) > /dev/null 2>&1
true"##;

/// Shell commands that leave a tree clean, so that its user is free.
/// Everything else that [`PLANT`] left stays.
pub const TIDY: &str = "git stash clear; git reset -q --hard \"$(git rev-parse origin/HEAD)\"; git clean -qfdx; \
    git for-each-ref --format '%(refname)' | grep 'planted[-]by' | xargs -n 1 git update-ref -d; git status --porcelain";

/// Shell commands that print everything they find about the word.
pub const FIND: &str = r##"
name='planted[-]by-another'
for place in / "$HOME" "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm /run "$PWD"; do
    find "$place" -xdev \( -path /proc -o -path /sys \) -prune -o -name "$name" -print
    [ "$place" = / ] || grep -Rsl "$name" "$place"
done 2> /dev/null
git cat-file --batch-all-objects --batch | grep -a "$name" | head -n 3
git for-each-ref | grep "$name"; git config --list --show-origin | grep "$name"; git stash list
grep -alz "$name" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null | while read -r file; do tr '\0' ' ' < "$file"; done
env | grep "$name"; true"##;

/// Shell commands by a caller who works: leftovers from another caller would change their outcome.
pub const HONEST: &str = "set -e; echo new > honest.txt; git status --porcelain | grep -q honest.txt; git add honest.txt; \
    git -c user.name=t -c user.email=t@localhost commit -qm Honest; git show HEAD:honest.txt | grep -qx new; \
    sh -c 'mktemp > /dev/null'; echo $(printf 'honest-work%s' -passed)";
