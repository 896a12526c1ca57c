// sandbox-image/keeper, snapshot/revert: fixed shell text of `revert.sh` and `redo.sh`. May import the rest of snapshot, and protocol.

/** `${` would be TypeScript's: the text below writes `@{`. */
function parameters(text: string): string {
  return text.replaceAll('@{', '${');
}

/**
 * The fixed part of `revert.sh` and `redo.sh`: POSIX sh with GNU or busybox tools. Every path is passed as two
 * arguments, root and relative path; nothing is ever reached through a symlink below a root. `look` sets `got` to
 * `f:<sha256>`, `d`, `l:<target>.`, `special` or `-` (nothing).
 */
export const PRELUDE = parameters(String.raw`
usage() {
  echo "usage: $0 [--force | --dry-run] [--root NAME=DIR]... (an empty DIR leaves that root alone)" >&2
  echo "exit: 0 done and verified, 2 usage, 3 conflict, 4 not verified, 5 unsafe path" >&2
  exit 2
}

inside() { # true when no directory between root and path is a symlink
  i_at=$1 i_rest=$2
  while :; do
    case $i_rest in */*) ;; *) return 0 ;; esac
    i_at=$i_at/@{i_rest%%/*} i_rest=@{i_rest#*/}
    [ ! -L "$i_at" ] || return 1
  done
}

tell() { [ -z "$1" ] || printf '%s\n' "$2"; }

safe() { inside "$1" "$2" || { printf 'unsafe: a symlink leads to %s\n' "$2" >&2; exit 5; }; }

open_root() { # a root of ours that a command closed: its own mode is nothing that a snapshot knows of
  [ "$MODE" != dry-run ] && [ -d "$1" ] || return 0
  { [ -r "$1" ] && [ -w "$1" ] && [ -x "$1" ]; } || chmod u+rwx -- "$1" 2>/dev/null || :
}

mode_of() { mode=$(stat -c %a -- "$1"); }

look() {
  got=- l_path=$1/$2
  inside "$1" "$2" || return 0
  if [ -L "$l_path" ]; then got="l:$(readlink -n -- "$l_path"; echo .)"
  elif [ -d "$l_path" ]; then got=d
  elif [ -f "$l_path" ]; then
    if [ -r "$l_path" ]; then l_sum=$(sha256sum <"$l_path")
    else
      mode_of "$l_path"; chmod u+r -- "$l_path"; l_sum=$(sha256sum <"$l_path"); chmod "$mode" -- "$l_path"
    fi
    got=f:@{l_sum%% *}
  elif [ -e "$l_path" ]; then got=special
  fi
}

conflict() { conflicts=$((conflicts + 1)); printf 'conflict: %s (%s)\n' "$1" "$2" >&2; }

want() { # root path "modes" token...: the path is in one of these states
  [ -n "$1" ] || return 0
  w_root=$1 w_rel=$2 w_modes=$3
  shift 3
  look "$w_root" "$w_rel"
  for w_token in "$@"; do
    [ "$got" = "$w_token" ] || continue
    case $got in f:* | d) ;; *) return 0 ;; esac
    mode_of "$w_root/$w_rel"
    case " $w_modes " in *" $mode "*) return 0 ;; esac
    conflict "$w_rel" "mode $mode"
    return 0
  done
  conflict "$w_rel" "$got"
}

only() { # root path name...: a directory that is to go holds nothing else
  [ -n "$1" ] || return 0
  look "$1" "$2"
  [ "$got" = d ] || return 0
  o_dir=$1/$2 o_rel=$2 o_known=0 o_all=0
  shift 2
  for o_name in "$TMP" "$@"; do
    if [ -e "$o_dir/$o_name" ] || [ -L "$o_dir/$o_name" ]; then o_known=$((o_known + 1)); fi
  done
  for o_path in "$o_dir"/* "$o_dir"/.[!.]* "$o_dir"/..?*; do
    if [ -e "$o_path" ] || [ -L "$o_path" ]; then o_all=$((o_all + 1)); fi
  done
  [ "$o_all" -le "$o_known" ] || conflict "$o_rel" 'holds something new'
}

widen() { # number root path: lets us into a closed directory of ours
  [ -n "$2" ] || return 0
  inside "$2" "$3" || return 0
  if [ -L "$2/$3" ] || [ ! -d "$2/$3" ]; then return 0; fi
  mode_of "$2/$3"
  eval "was_$1=\$mode"
  chmod u+rwx -- "$2/$3"
}

narrow() { # undoes widen
  [ -n "$2" ] || return 0
  eval "mode=\@{was_$1-}"
  [ -z "$mode" ] || chmod "$mode" -- "$2/$3"
}

object() {
  if [ -f "$OBJECTS/$1" ]; then
    o_sum=$(sha256sum <"$OBJECTS/$1")
    if [ "@{o_sum%% *}" = "$1" ]; then return 0; fi
  fi
  printf 'object %s is missing or damaged; nothing was changed\n' "$1" >&2
  exit 4
}

gone() { # what is below a symlink is not ours; a directory is left to gonedir
  [ -n "$1" ] || return 0
  inside "$1" "$2" || return 0
  if [ ! -L "$1/$2" ] && [ ! -e "$1/$2" ]; then return 0; fi
  if [ "$MODE" = force ]; then rm -rf -- "@{1:?}/@{2:?}"
  elif [ -L "$1/$2" ] || [ ! -d "$1/$2" ]; then rm -f -- "$1/$2"
  fi
}

gonedir() {
  [ -n "$1" ] || return 0
  inside "$1" "$2" || return 0
  if [ "$MODE" = force ]; then rm -rf -- "@{1:?}/@{2:?}"
  elif [ -d "$1/$2" ] && [ ! -L "$1/$2" ]; then
    rm -f -- "$1/$2/$TMP"
    rmdir -- "$1/$2"
  fi
}

makedir() {
  [ -n "$1" ] || return 0
  safe "$1" "$2"
  if [ -L "$1/$2" ] || { [ -e "$1/$2" ] && [ ! -d "$1/$2" ]; }; then rm -f -- "$1/$2"; fi
  [ -d "$1/$2" ] || mkdir -- "$1/$2"
  chmod u+rwx -- "$1/$2"
}

stage() { # sets tmp to a free name in the directory of the path
  safe "$1" "$2"
  tmp=$1/$2
  tmp=@{tmp%/*}/$TMP
  if [ -e "$tmp" ] || [ -L "$tmp" ]; then rm -f -- "$tmp"; fi
}

settle() { # renames tmp to root/path; mv calls a symlink and its target the same file, so then the target goes first
  if [ -L "$tmp" ] || [ -L "$1/$2" ] || [ ! -f "$1/$2" ]; then
    if [ "$MODE" = force ]; then rm -rf -- "@{1:?}/@{2:?}"; else rm -f -- "$1/$2"; fi
  fi
  mv -f -- "$tmp" "$1/$2"
}

put() { # root path sha256 mode
  [ -n "$1" ] || return 0
  stage "$1" "$2"
  cp -- "$OBJECTS/$3" "$tmp"
  chmod "$4" -- "$tmp"
  settle "$1" "$2"
}

point() { # root path target
  [ -n "$1" ] || return 0
  stage "$1" "$2"
  ln -s -- "$3" "$tmp"
  settle "$1" "$2"
}

join() { # root path root first-name: one more name of a file
  [ -n "$1" ] || return 0
  if [ -z "$3" ]; then failed "$2" 'its other name lies in a root that is left alone'; return 0; fi
  stage "$1" "$2"
  safe "$3" "$4"
  ln -- "$3/$4" "$tmp"
  rm -f -- "$1/$2"
  settle "$1" "$2"
}

perm() { [ -z "$1" ] || { safe "$1" "$2"; chmod "$3" -- "$1/$2"; }; }

loosen() { # lets its owner write the attributes of a path; mode is what it was
  safe "$1" "$2"
  mode_of "$1/$2"
  chmod u+rw -- "$1/$2"
}

attr() { # root path name value: base64 behind 0s; nothing for an empty one, which setfattr takes for none at all
  [ -n "$1" ] || return 0
  if ! command -v setfattr >/dev/null 2>&1; then ATTRS=no; return 0; fi
  loosen "$1" "$2"
  setfattr -h -n "$3" @{4:+-v} @{4:+"$4"} -- "$1/$2" || failed "$2" 'extended attribute'
  chmod "0$mode" -- "$1/$2"
}

unattr() { # root path name: one that is not there is gone already
  [ -n "$1" ] || return 0
  if ! command -v setfattr >/dev/null 2>&1; then ATTRS=no; return 0; fi
  loosen "$1" "$2"
  setfattr -h -x "$3" -- "$1/$2" 2>/dev/null || true
  chmod "0$mode" -- "$1/$2"
}

when() { # root path seconds .nanoseconds
  [ -n "$1" ] || return 0
  safe "$1" "$2"
  if [ "$EXACT" = yes ] && touch -h -c -d "@$3$4" -- "$1/$2" 2>/dev/null; then return 0; fi
  EXACT=no
  touch -h -c -d "@$3" -- "$1/$2"
}

failed() { failures=$((failures + 1)); printf 'not restored: %s (%s)\n' "$1" "$2" >&2; }

check() { # root path token mode time
  [ -n "$1" ] || return 0
  look "$1" "$2"
  if [ "$got" != "$3" ]; then failed "$2" "$got"; return 0; fi
  [ "$got" != - ] || return 0
  c_meta=$(stat -c '%a %.9Y' -- "$1/$2")
  case $got in f:*) [ "@{c_meta%% *}" = "$4" ] || failed "$2" "mode @{c_meta%% *}" ;; esac
  [ "$EXACT" != yes ] || [ "@{c_meta#* }" = "$5" ] || failed "$2" 'modification time'
}

close() { # root path mode mode-as-stat-says: last of all, deepest first
  [ -n "$1" ] || return 0
  perm "$1" "$2" "$3"
  mode_of "$1/$2"
  [ "$mode" = "$4" ] || failed "$2" "mode $mode"
}

same() { # root path root first-name
  if [ -z "$1" ] || [ -z "$3" ]; then return 0; fi
  [ "$(stat -c %d:%i -- "$1/$2")" = "$(stat -c %d:%i -- "$3/$4")" ] || failed "$2" "no hard link to $4"
}
`);

/** The fixed last part, after the functions that list the paths. */
export const MAIN = String.raw`
conflicts=0 failures=0 EXACT=yes ATTRS=yes committed=no
trap '[ "$committed" = yes ] || narrow_all' EXIT
widen_all
if [ "$MODE" != force ]; then
  guard_all
  if [ "$MODE" = dry-run ]; then list_all; fi
  if [ "$conflicts" -gt 0 ]; then
    echo "$conflicts paths are not as they were left: nothing was changed (--force overwrites them)" >&2
    exit 3
  fi
  if [ "$MODE" = dry-run ]; then exit 0; fi
fi
objects_all
committed=yes
remove_all
make_all
place_all
perm_all
attr_all
time_all
check_all
close_all
[ "$EXACT" = yes ] || echo 'modification times are exact to the second only: this touch knows no fractions' >&2
[ "$ATTRS" = yes ] || echo 'extended attributes are left as they are: there is no setfattr here' >&2
if [ "$failures" -gt 0 ]; then exit 4; fi
if [ "$COUNT" = 1 ]; then paths=path; else paths=paths; fi
echo "done and verified: $COUNT $paths"
`;
