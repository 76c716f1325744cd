//! Shell scripts for checkpoints.
//!
//! Each runs once in the sandbox, because a sandbox costs more than a git call.
//!
//! They are constant text. Paths and names are arguments. Git has the mirror's settings, which are
//! none, and writes into a quarantine: the tree and the mirror are read only. Git quotes file
//! names, so that each is text on a single line, whatever bytes it has.

/// Script exit code if git may not read a file or folder in the tree.
pub(super) const DENIED: i32 = 89;

/// Saves a tree.
///
/// Arguments: git, mirror, tree, quarantine, known state, commit that needs no checkpoint, `new`,
/// `repaired` or `again`, first message line.
///
/// `new` ends with [`DENIED`] if git may not read something. `repaired` leaves that out.
pub(super) const SAVE: &str = r#"
git=$1 mirror=$2 tree=$3 q=$4 known=$5 base=$6 mode=$7 title=$8
none=4b825dc642cb6eb9a060e54bf8d69288fbee4904
export GIT_DIR="$mirror" GIT_WORK_TREE="$tree" GIT_INDEX_FILE="$q/index" GIT_OBJECT_DIRECTORY="$q/objects"
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$tree/.git/objects:$mirror/objects"
g() {
  "$git" -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 -c index.sparse=false -c core.quotePath=true \
    -c "core.excludesFile=$tree/.git/info/exclude" "$@"
}
# Git compares no file with one of these flags. A file that a sparse tree lacks keeps its flag, and is no deletion.
unhide() {
  g ls-files -v | LC_ALL=C grep '^[hsS] ' >"$q/hidden" || return 0
  sed -n 's/^[hs] //p' "$q/hidden" >"$q/assumed"; sed -n 's/^[sS] //p' "$q/hidden" >"$q/skipped"
  [ ! -s "$q/assumed" ] || g update-index --no-assume-unchanged --stdin <"$q/assumed" || return 1
  [ -s "$q/skipped" ] || return 0
  g update-index --no-skip-worktree --stdin <"$q/skipped" || return 1
  g ls-files --deleted | LC_ALL=C grep -Fxf "$q/skipped" >"$q/absent" || return 0
  g update-index --skip-worktree --stdin <"$q/absent"
}
cd "$tree" || exit 90
"$git" --git-dir="$tree/.git" show-ref --head >"$q/refs" 2>/dev/null
head='' sha='' name='' at='' place='' remotes=' '
read -r sha name <"$q/refs" && [ "$name" = HEAD ] && head=$sha
if [ "$mode" != again ]; then
  added=0
  [ ! -s "$q/index" ] || unhide 2>"$q/errors" || exit 98
  [ -s "$q/index" ] && { g add --all --verbose --ignore-errors -- . >"$q/added" 2>"$q/errors" || added=$?; } || added=99
  if [ "$added" -gt 1 ]; then
    # The copied index is unusable.
    rm -f "$q/index" && g read-tree "${head:---empty}" || exit 91
    added=0; g add --all --verbose --ignore-errors -- . >"$q/added" 2>"$q/errors" || added=$?
  fi
  [ "$added" -le 1 ] || exit 92
  if [ -s "$q/errors" ] && LC_ALL=C grep -q ': Permission denied$' "$q/errors"; then
    [ "$mode" = repaired ] || exit 89
    added=1
  fi
  echo "added $added"
else
  g hash-object -w --no-filters --stdin-paths <"$q/paths" >"$q/ids" || exit 93
  exec 3<"$q/ids"
  while IFS='	' read -r kind path; do read -r sha <&3; printf '%s %s\t%s\n' "$kind" "$sha" "$path"; done \
    <"$q/texts" >>"$q/entries"
  g update-index --index-info <"$q/entries" || exit 93
fi
t=$(g write-tree) || exit 94
while read -r sha name; do case $name in refs/remotes/*) remotes="$remotes$sha " ;; esac; done <"$q/refs"
seen=" $head " parents=''
: >"$q/tips"
while read -r sha name; do
  case $name in refs/heads/* | refs/stash) ;; *) continue ;; esac
  case $remotes in *" $sha "*) continue ;; esac
  echo "tip $sha $name" >>"$q/tips"
  case $seen in *" $sha "*) ;; *) seen="$seen$sha " parents="$parents $sha" ;; esac
done <"$q/refs"
if [ -r "$tree/.git/logs/refs/stash" ]; then
  # Only the last stash has a ref.
  while read -r name sha at; do
    case $seen in *" $sha "*) continue ;; esac
    echo "tip $sha refs/stash" >>"$q/tips"
    seen="$seen$sha " parents="$parents $sha"
  done <"$tree/.git/logs/refs/stash"
fi
at=-; read -r at <"$tree/.git/HEAD"
# The next checkpoint uses the message too, if the branches are the same then.
{ printf '%s\n\n%s\n' "$title" "head ${head:--} $at"; [ ! -s "$q/tips" ] || cat "$q/tips"; } >"$q/message"
state="$head $t$parents"
echo "state $state"
[ "$state" != "$known" ] || { echo same; exit 0; }
if [ "$mode" != again ]; then
  g diff-index --cached --raw --no-renames --no-abbrev "${head:-$none}" -- >"$q/raw" || exit 95
  # The origin has a tree without changes at one of its commits.
  case "$remotes$base " in *" $head "*) place=origin ;; esac
  [ -n "$known" ] || [ -s "$q/raw" ] || [ -z "$place" ] || [ -n "$parents" ] || { echo clean; exit 0; }
  cut -d' ' -f4 "$q/raw" | g cat-file --batch 2>/dev/null | head -c 67108864 >"$q/blobs"
fi
set --; for sha in $head $parents; do set -- "$@" -p "$sha"; done
c=$(g commit-tree --no-gpg-sign -F "$q/message" "$@" "$t") || exit 96
{ echo "$c"; cat "$q/known"; } | g pack-objects --revs -q --threads=1 "$q/pack" >"$q/name" || exit 97
read -r name <"$q/name"
echo "commit $c"
echo "pack $name"
"#;

/// Saves the files in a tree that changed since the last checkpoint, with the index that it left.
///
/// Arguments: git, mirror, tree, quarantine, known tree, `HEAD` commit, further parents. Objects
/// come only from the mirror, so that every new object is in the quarantine.
pub(super) const SAVE_QUICKLY: &str = r#"
git=$1 mirror=$2 tree=$3 q=$4 known=$5
shift 5
export GIT_DIR="$mirror" GIT_WORK_TREE="$tree" GIT_INDEX_FILE="$q/index" GIT_OBJECT_DIRECTORY="$q/objects"
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$mirror/objects"
g() {
  "$git" -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 -c index.sparse=false -c core.quotePath=true \
    -c "core.excludesFile=$tree/.git/info/exclude" "$@"
}
cd "$tree" || exit 90
g add --all --verbose -- . >"$q/added" 2>"$q/errors" || exit 92
[ ! -s "$q/errors" ] || ! LC_ALL=C grep -q ': Permission denied$' "$q/errors" || exit 89
[ ! "$q/index" -ef "$q/before" ] || exit 0
t=$(g write-tree) || exit 94
[ "$t" != "$known" ] || exit 0
[ -s "$q/message" ] || exit 95
echo "tree $t"
parents=''
for sha; do parents="$parents -p $sha"; done
# The words are ids of commits.
c=$(g commit-tree --no-gpg-sign -F "$q/message" $parents "$t") || exit 96
echo "commit $c"
"#;

/// Restores a checkpoint in a new tree.
///
/// Arguments: git, mirror, tree, commit, head, branch, file with tips.
pub(super) const RESTORE: &str = r#"
git=$1 mirror=$2 tree=$3 commit=$4 head=$5 branch=$6 tips=$7
t() { "$git" -c core.hooksPath=/dev/null -c gc.auto=0 --git-dir="$tree/.git" --work-tree="$tree" "$@"; }
cd "$tree" || exit 90
{
  echo "$commit"
  # Commits that the tree has are not copied.
  [ -z "$head" ] || ! t cat-file -e "$head^{commit}" 2>/dev/null || echo "^$head"
} | "$git" --git-dir="$mirror" pack-objects --revs --stdout -q --threads=1 |
  t index-pack --stdin --fix-thin >/dev/null || exit 91
t checkout --quiet --force --detach "$commit" -- || exit 92
if [ -z "$head" ]; then
  t symbolic-ref HEAD "${branch:-refs/heads/main}" && t read-tree --empty || exit 93
elif [ -z "$branch" ]; then
  t update-ref --no-deref HEAD "$head" && t reset --quiet || exit 93
else
  t update-ref "$branch" "$head" && t symbolic-ref HEAD "$branch" && t reset --quiet || exit 93
fi
while read -r sha name; do
  case $name in
    refs/stash) t stash store --quiet -m restored "$sha" || exit 94 ;;
    "$branch") ;;
    *) t update-ref "$name" "$sha" || exit 94 ;;
  esac
done <"$tips"
"#;
