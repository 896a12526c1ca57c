// sandbox-image/keeper, snapshot/revert: the form of `revert.sh` and `redo.sh`. May import the rest of snapshot, and protocol.
import { MAIN, PRELUDE } from './prelude.ts';

/** Before the fixed functions: two lines of comment for people, and what all scripts begin with. */
export const OPENING = '# shellcheck disable=SC2329\nset -eu\nunset CDPATH\nexport LC_ALL=C';

/** A root of a script: its name, its folder as a quoted word, and how many paths of it change. */
interface ScriptRoot {
  readonly name: string;
  readonly folder: string;
  readonly count: number;
}

/** Returns the part of a script that reads its options. `digest`: 16 hexadecimal digits of the goal. */
export function optionsOf(digest: string, roots: readonly ScriptRoot[]): string {
  const names = roots.map(({ name, folder }) => `ROOT_${name}=\${ROOT_${name}-${folder}}`);
  const cases = roots.map(({ name }) => `      ${name}=*) ROOT_${name}=\${2#*=} ;;`);
  // Skips the command for an empty name: that root is left alone.
  const given = (name: string, command: string): string => `[ -z "$ROOT_${name}" ] || ${command}`;
  // `set -e` does not hold inside of lists: a folder that is not there would go on as the root of the file system.
  const resolve = roots.map(({ name }) => {
    const path = `ROOT_${name}=$(cd -- "$ROOT_${name}" && pwd -P && echo .) || exit 2; ROOT_${name}=\${ROOT_${name}%??}`;
    return given(name, `{ open_root "$ROOT_${name}"; ${path}; }`);
  });
  const counts = roots.map(({ name, count }) => given(name, `COUNT=$((COUNT + ${count}))`));
  return `MODE=guard COUNT=0
TMP=.agentfleet-revert-${digest}
${names.join('\n')}
while [ $# -gt 0 ]; do
  case $1 in
    --force) MODE=force ;;
    --dry-run) MODE=dry-run ;;
    --root)
      case \${2-} in
${cases.join('\n')}
      *) usage ;;
      esac
      shift
      ;;
    *) usage ;;
  esac
  shift
done
OBJECTS=\${OBJECTS:-$(dirname -- "$0")/objects}
${resolve.join('\n')}
${counts.join('\n')}
`;
}

const quoted = String.raw`'[^']*'(?:\\''[^']*')*`;
const root = String.raw`"\$ROOT_\w+"`;
const placed = `${root} ${quoted}`;
/** A hash, a mode, a time, a value in base64: nothing that a shell expands. */
const bare = '[A-Za-z0-9.:=+/-]+';
const forms = [
  'object [0-9a-f]{64}',
  `tell ${placed}`,
  `(?:widen|narrow) [0-9]+ ${placed}`,
  `(?:join|same) ${placed} ${placed}`,
  `point ${placed} ${quoted}`,
  `put ${placed} [0-9a-f]{64} [0-7]+`,
  `(?:attr|check|close|gone|gonedir|makedir|only|perm|unattr|want|when) ${placed}(?: (?:${quoted}|${bare}))* ?`,
];
const command = new RegExp(`  (?:${forms.join('|')})\\n`, 'y');
const place = new RegExp(`${root} (${quoted})`, 'g');

/** Reports whether the words of a command name places below their roots only. */
function staysBelow(line: string): boolean {
  if (line.startsWith('  tell ')) return true;
  return [...line.matchAll(place)].every(([, path = '']) =>
    path
      .slice(1, -1)
      .replaceAll(String.raw`'\''`, "'")
      .split('/')
      .every((part) => part !== '' && part !== '.' && part !== '..'),
  );
}

/** Returns the text after a phase; undefined: there is none at its beginning. */
function afterPhase(text: string, name: string): string | undefined {
  const head = `${name}_all() {\n`;
  if (!text.startsWith(head)) return undefined;
  let at = head.length;
  if (text.startsWith('  :\n', at)) at += 4;
  for (command.lastIndex = at; command.test(text); at = command.lastIndex)
    if (!staysBelow(text.slice(at, command.lastIndex))) return undefined;
  return text.startsWith('}\n\n', at) ? text.slice(at + 3) : undefined;
}

/** Phases of a script in their order. */
const phases = ['widen', 'narrow', 'guard', 'list', 'objects', 'remove', 'make', 'place', 'perm', 'attr', 'time', 'close', 'check'];

/**
 * Reports whether a script is one that a keeper of this release makes: the fixed text, and lines that call its functions with quoted words
 * and paths below the roots. Who may change the pod of a sandbox can make its keeper send any program. `script`: bytes, one a character.
 */
export function isScript(script: string): boolean {
  const [, head = ''] = /^(#!\/bin\/sh\n#[^\n]*\n#[^\n]*\n)/.exec(script) ?? [];
  const before = `${head}${OPENING}\n${PRELUDE}\n`;
  if (head === '' || !script.startsWith(before) || !script.endsWith(MAIN)) return false;
  const body = script.slice(before.length, -MAIN.length);
  const at = body.indexOf('\nwiden_all() {\n') + 1;
  if (at === 0 || !isOptions(body.slice(0, at - 1))) return false;
  const rest = phases.reduce<string | undefined>((text, name) => (text === undefined ? undefined : afterPhase(text, name)), body.slice(at));
  return rest === '';
}

function isOptions(text: string): boolean {
  const digest = /^TMP=\.agentfleet-revert-([0-9a-f]{16})$/m.exec(text)?.[1] ?? '';
  const counts = new Map(
    [...text.matchAll(/^\[ -z "\$ROOT_(\w+)" \] \|\| COUNT=\$\(\(COUNT \+ (\d+)\)\)$/gm)].map(([, name, n]) => [name, Number(n)]),
  );
  const roots = [...text.matchAll(new RegExp(String.raw`^ROOT_(\w+)=\$\{ROOT_\1-(${quoted})\}$`, 'gm'))];
  const known = roots.map(([, name = '', folder = '']) => ({ name, folder, count: counts.get(name) ?? 0 }));
  return text === optionsOf(digest, known);
}
