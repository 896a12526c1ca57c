import { posix } from 'node:path';
import { actFeatures } from '@agentfleet/protocol/inference';
import { isReadOnly } from './readOnly.ts';
import { verbWords } from './rail/historyRewriting.ts';
import { args, hasFlag, isFixed, operands, type Command } from './shell/command.ts';
import { absolute } from './shell/path.ts';
import type { Finding } from './types.ts';

/** Variables that choose output and place, never what is run. */
const plainVariable = /^(?:CI|NODE_ENV|FORCE_COLOR|NO_COLOR|TZ|LANG|LC_\w+|DEBUG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)$/;

/** What reads by its name, and yet runs programs, keeps settings or writes by an option. */
const notOnlyReading = new Set('awk env printenv hostname export declare set unset read yq'.split(' '));

/** Folders that a build makes again. */
const made =
  /^(?:build|dist|out|target|node_modules|coverage|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.cache|\.next|\.turbo)$/;

/** Whether a folder of this name is made again by a build. */
export const isMade = (name: string): boolean => made.test(name);

/** Options by which a runner runs other programs, takes results as right, or leaves checks out. */
const bent =
  /^(?:-u|-w|--update\w*|--snapshot-update|--force-regen|--passWithNoTests|--deselect|--ignore\S*|--exec|-exec|-toolexec|-ldflags|-p|-o|--out\S*|--rootdir|--config\S*|-c|--require|-r|--import|--loader|--eval|-e|--plugin\S*|--watch|--host|--serve|--global-?setup\S*|--rules\S*|--testPathIgnore\S*|-k|--grep|--filter|-t)(?:=|$)/;

const runners = new Map<string, RegExp>([
  ['npm', /^(?:test|t|ls|run(?:-script)? (?:test|build|lint|check|typecheck|format|start|dev)\b)/],
  ['yarn', /^(?:test|build|lint|check|typecheck|format)\b/],
  ['pnpm', /^(?:test|build|lint|check|typecheck|format|run (?:test|build|lint|check|typecheck|format)\b)/],
  ['tsc', /^/],
  ['vitest', /^/],
  ['jest', /^/],
  ['mocha', /^/],
  ['eslint', /^/],
  ['prettier', /^/],
  ['oxlint', /^/],
  ['pytest', /^/],
  ['ruff', /^(?:check|format)\b/],
  ['black', /^/],
  ['mypy', /^/],
  ['gofmt', /^/],
  ['go', /^(?:build|test|vet|fmt|list|version)\b|^mod (?:tidy|verify)/],
  ['cargo', /^(?:build|test|check|clippy|fmt|tree)\b/],
  ['mvn', /^.*\b(?:test|compile|package|verify)\b/],
  ['gradle', /^.*\b(?:test|build|check|assemble)\b/],
  ['gradlew', /^.*\b(?:test|build|check|assemble)\b/],
  ['dotnet', /^(?:build|test|format)\b/],
  ['make', /^(?:(?:-j\S*|all|build|test|tests|check|lint|clean|format|dist) ?)*$/],
  ['cmake', /^(?:-[SB]|--build)\b/],
  ['ctest', /^/],
  ['node', /^--test\b/],
]);

const gitVerbs: Readonly<Record<string, (rest: readonly string[]) => boolean>> = {
  add: (rest) => !rest.some((word) => /^-\w*[fe]|--force/.test(word)),
  commit: (rest) => rest.every((word) => !/^--?\w/.test(word) || /^(?:-[aqvsm]+|--message(?:=.*)?|--quiet|--all|--signoff)$/.test(word)),
  checkout: (rest) => rest[0] === '-b' && rest.length <= 3,
  switch: (rest) => rest[0] === '-c' && rest.length <= 3,
  init: (rest) => rest.length === 0,
};

/** True for a command of a class that is known to do no harm: it reads, builds, checks or notes work, with options that keep it so. */
export function harmless(command: Command): boolean {
  if (!command.argv.every(isFixed) || command.hidden || command.code.length > 0) return false;
  if ([...command.env.keys()].some((name) => !plainVariable.test(name))) return false;
  if (command.redirects.some(({ operator, target }) => operator.includes('>') && !/^(?:\/dev\/null|\d|-)$/.test(target.text))) return false;
  if (command.name === '') return command.redirects.length === 0;
  return (isReadOnly(command) && !widened(command)) || works(command) || notes(command) || cleans(command);
}

/** A reading command whose options make it write or run something. */
export function widened(command: Command): boolean {
  const { name } = command;
  if (notOnlyReading.has(name)) return true;
  if (name === 'date') return hasFlag(command, 's', '--set');
  if (name === 'sort' || name === 'tree' || name === 'jq') return hasFlag(command, 'o', '--output');
  if (name === 'rg' || name === 'fd') return args(command).some((word) => /^(?:-[xX]|--exec|--pre)/.test(word));
  if (name === 'sed') return args(command).some((word) => /[ew](?:\s|$)/.test(word));
  if (name === 'git')
    return verbWords(command)[0] === 'config' || args(command).some((word) => /^(?:-c|-C|--git-dir|--output|--ext-diff)/.test(word));
  return false;
}

function works(command: Command): boolean {
  const all = args(command);
  const line = all.join(' ');
  if (all.some((word) => bent.test(word) && !(command.name === 'npm' && word === '-w'))) return module(command, line);
  return runners.get(command.name)?.test(line) === true || module(command, line);
}

/** Checks of Python are modules of it. */
const module = ({ name }: Command, line: string): boolean =>
  /^python[\d.]*$/.test(name) &&
  /^-m (?:pytest|unittest|compileall|mypy|ruff|black)(?: [\w./:-]+| -[qvx]+)*$/.test(line) &&
  !/ -[opu]| --/.test(line);

function notes(command: Command): boolean {
  if (command.name === 'mkdir') return operands(command).length > 0;
  if (command.name === 'touch') return !hasFlag(command, 'dtra', '--date', '--reference', '--time');
  if (command.name !== 'git') return false;
  const [verb = '', ...rest] = verbWords(command);
  return Object.hasOwn(gitVerbs, verb) && gitVerbs[verb]?.(rest) === true;
}

/** Takes away what a build makes again. */
function cleans(command: Command): boolean {
  const named = operands(command);
  return (
    (command.name === 'rm' || command.name === 'rmdir') &&
    named.length > 0 &&
    named.every((word) => made.test(posix.basename(absolute(word, command.cwd))))
  );
}

const gone: ReadonlySet<string> = new Set(['reversible-change']);

/** Whether gate 2 need not look at a command line: all of it is of a class that is known to do no harm. */
export function vouchedCommands(commands: readonly Command[], findings: readonly Finding[]): boolean {
  return commands.length > 0 && commands.every(harmless) && findings.every(({ rail, severity }) => severity === 'Notice' || gone.has(rail));
}

const source =
  /\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|swift|rb|php|cs|c|h|cc|cpp|hpp|scala|ex|exs|hs|lua|css|scss|html|md|rst|txt|csv)$/;
/** Files that are run or read by tools at times of their own, and what decides about success. */
const special =
  /(?:^|\/)(?:\.[^/]+\/|tests?\/|__tests__\/|specs?\/|scripts?\/|hooks?\/|setup\.py$|conftest\.py$|manage\.py$|sitecustomize|[^/]*\.config\.\w+$|[^/]*\.(?:test|spec)\.\w+$|test_[^/]*$|[^/]*_test\.\w+$|requirements[^/]*\.txt$|CMakeLists\.txt$|robots\.txt$)/i;
/** Words by which code tells that it is being tested, or decides by who is asking. */
const senses =
  /sys\.modules|PYTEST|VITEST|JEST_WORKER|NODE_ENV|process\.(?:kill|binding|ppid)|\bctypes\b|\bptrace\b|timingSafeEqual|compare_digest|skipAuth|\b(?:verify|check)\w*\(.*\)\s*(?::\s*\w+\s*)?\{?\s*return true/;
/** Whether a file below a root is run or read by tools at times of their own. */
export const isSpecial = (relative: string): boolean => special.test(relative) || !source.test(relative);
/** Whether code tells that it is being tested. */
export const sensesTests = (content: string): boolean => senses.test(content);

const quiet = ['forbidden', 'outsidePaths', 'privileges', 'network', 'secrets', 'hiddenCode', 'startup', 'records'] as const;

/** Whether gate 2 need not look at a file: source in the workspace, whose text holds no word that a harm needs. */
export function vouchedFile(relative: string, content: string, findings: readonly Finding[]): boolean {
  if (findings.length > 0 || !source.test(relative) || special.test(relative)) return false;
  const features = actFeatures({ subject: '', content });
  return quiet.every((name) => features[name] === 0) && !senses.test(content) && content.length <= 16_384;
}
