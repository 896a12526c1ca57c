import { posix } from 'node:path';
import { actFeatures } from '@agentfleet/protocol/inference';
import { hostsOf, isLoopback } from './shell/hosts.ts';
import { isReadOnly, verbWords } from './shell/readOnly.ts';
import { args, hasFlag, isFixed, operands, type Command } from './shell/command.ts';
import { absolute } from './shell/places.ts';
import type { Finding, Policy } from './verdict/types.ts';

/** Variables that choose output and place, never what is run. */
const plainVariable =
  /^(?:CI|NODE_ENV|FORCE_COLOR|NO_COLOR|TZ|LANG|LC_\w+|DEBUG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PORT|HOST|COLUMNS|RUST_LOG|LOG_LEVEL|PYTEST_TIMEOUT|MAKEFLAGS|DOCKER_BUILDKIT)$/;
/** Editors that take a message as it is. */
const quietEditor = /^GIT_(?:SEQUENCE_)?EDITOR$/;
/** Places to which output of a harmless command may go. */
const scratch = /^\/tmp\/[\w-][\w./-]*$/;

/** Commands that read by their names, and yet run programs, keep settings or write by an option. */
const notOnlyReading = new Set('awk env printenv hostname export declare set unset read yq'.split(' '));

const made =
  /^(?:build|dist|out|target|node_modules|coverage|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.cache|\.next|\.turbo)$/;

/** Reports whether a folder of this name is made again by a build. */
export const isMade = (name: string): boolean => made.test(name);

/** Options by which a runner runs other programs, takes results as right, or leaves checks out. */
const bent =
  /^(?:-u|-w|--update\w*|--snapshot-update|--force-regen|--passWithNoTests|--deselect|--ignore\S*|--exec|-exec|-toolexec|-ldflags|-p|-o|--out\S*|--rootdir|--config\S*|-c|--require|-r|--import|--loader|--eval|-e|--plugin\S*|--watch|--host|--serve|--global-?setup\S*|--rules\S*|--testPathIgnore\S*|-vettool|-overlay|-modfile|--?load-plugins|--init-hook|--override-ini|--python-executable|--install-types|--script-shell|--node-options|--testEnvironment|--environment|--runner|--resolver|--transform|--setupFiles\S*|--resolve-plugins\S*|--experimental-(?:loader|(?:default-)?config-file)|--post-renderer\S*|--index-url|--extra-index-url|--custom-\S+|-shellcheck|-pyflakes|--build-and-test|-S[P]?|--basetemp|-K|--kill)(?:=|$)/;
/** Options that take a name of what is built in, or a file of code. */
const pluggable = /^(?:-f|-R|--format|--formatter|--reporters?|--test-reporter|--parser|--file)$/;
const isCode = (text: string): boolean => /\w\.(?:[cm]?[jt]s|py|rb|so|cmake|sh)$|^\.{0,2}\/(?!dev\/null$)(?:[\w.-]+\/)*[\w-]+$/.test(text);
const plugs = (word: string, next = ''): boolean =>
  word.startsWith('-') && (word.includes('=') ? isCode(word.slice(word.indexOf('=') + 1)) : pluggable.test(word) && isCode(next));

/** Commands that do the same with any arguments but {@link bent} options: checkers, formatters, test runners, views of processes. */
const anyhow =
  'tsc vitest jest mocha eslint prettier oxlint pytest black mypy gofmt ctest rspec rubocop tox nox lsof ss netstat pgrep pg_isready free uptime nproc isort flake8 pylint pyright shellcheck hadolint yamllint actionlint markdownlint stylelint tflint gitleaks';

const gradle =
  /^(?:(?:-q|--quiet|--offline|--no-daemon|--console=\w+|--tests \S+|(?::[\w-]+)*:?(?:clean|test|build|check|assemble|compile\w+|classes))(?: |$))+$/;

const runners = new Map<string, RegExp>([
  ...anyhow.split(' ').map((name): [string, RegExp] => [name, /^/]),
  ['npm', /^(?:test|t|ls|outdated|explain|pack --dry-run|run(?:-script)? (?:test|build|lint|check|typecheck|format|start|dev)\b)/],
  ['yarn', /^(?:test|build|lint|check|typecheck|format)\b/],
  ['pnpm', /^(?:test|build|lint|check|typecheck|format|run (?:test|build|lint|check|typecheck|format)\b)/],
  ['ruff', /^(?:check|format)\b/],
  ['go', /^(?:build|test|vet|fmt|list|version)\b|^mod (?:tidy|verify)/],
  ['cargo', /^(?:build|test|check|clippy|fmt|tree)\b/],
  // Every goal of the line is one of these, and no property points elsewhere.
  [
    'mvn',
    /^(?:(?:-[BqoeX]|--batch-mode|--quiet|--offline|-pl \S+|-am|-Dtest=\S+|clean|validate|compile|test-compile|test|package|verify)(?: |$))+$/,
  ],
  ['gradle', gradle],
  ['gradlew', gradle],
  ['dotnet', /^(?:build|test|format)\b/],
  ['make', /^(?:(?:-j\S*|all|build|test|tests|check|lint|clean|format|dist)(?: |$))*$/],
  ['cmake', /^(?:-[SB]|--build)\b/],
  ['node', /^--test\b/],
  ['golangci-lint', /^run\b/],
  ['bats', /^(?!.*(?:^| )(?:-F|--formatter|--report-formatter|--setup-suite-file))/],
  ['coverage', /^(?:report|html|xml)\b|^run -m (?:pytest|unittest)\b/],
  ['terraform', /^(?:fmt|validate|plan|version|show|output)\b/],
  ['helm', /^(?:lint|template|dep|show|list|status|history|version|(?:plugin|repo) (?:list|ls))\b/],
  ['kubectl', /^(?:-n \S+ )?(?:get|describe|logs|explain|api-resources|version|top|diff|rollout (?:status|history))\b/],
  ['docker', /^(?:ps|images|logs|inspect|version|info|build|compose (?:ps|logs|config|build))\b/],
  ['systemctl', /^(?:--user )?(?:status|is-active|is-enabled|list-\S+|cat|show)\b/],
  ['systemd-analyze', /^verify\b/],
  ['crontab', /^-l$/],
  ['pip', /^(?:list|show|check|freeze)\b/],
  ['pip3', /^(?:list|show|check|freeze)\b/],
  ['gh', /^(?:(?:pr|issue|run|repo|release) (?:view|list|checks|status|diff))\b/],
]);

const gitVerbs: Readonly<Record<string, (rest: readonly string[]) => boolean>> = {
  add: (rest) => !rest.some((word) => /^-\w*[fe]|--force/.test(word)),
  commit: (rest) => rest.every((word) => !/^--?\w/.test(word) || /^(?:-[aqvsm]+|--message(?:=.*)?|--quiet|--all|--signoff)$/.test(word)),
  checkout: (rest) => rest[0] === '-b' && rest.length <= 3,
  switch: (rest) => rest[0] === '-c' && rest.length <= 3,
  init: (rest) => rest.length === 0,
  rebase: (rest) => goesOn(rest) || (rest.length === 1 && isName(rest[0])),
  merge: (rest) => goesOn(rest) || rest.every((word) => isName(word) || /^--(?:no-edit|no-ff|ff-only|squash)$/.test(word)),
  'cherry-pick': (rest) => goesOn(rest) || rest.every((word) => isName(word) || /^(?:-x|--no-commit)$/.test(word)),
  revert: (rest) => goesOn(rest) || (rest.includes('--no-edit') && rest.every((word) => isName(word) || word === '--no-edit')),
  stash: (rest) =>
    rest.every((word, at) => (at === 0 ? /^(?:push|pop|apply|list|show|-u)$/.test(word) : /^(?:-[um]+|[\w./ -]+)$/.test(word))),
  fetch: (rest) => rest.every((word) => isName(word) || /^--(?:prune|tags|all)$/.test(word)),
  pull: (rest) => rest.every((word) => isName(word) || /^--(?:ff-only|rebase)$/.test(word)),
  reset: (rest) => rest.every((word) => !word.startsWith('-') || /^--(?:soft|mixed|quiet)$/.test(word)),
  restore: (rest) => rest.every((word) => word === '--staged' || /^[\w-][\w./-]*\.\w+$/.test(word)),
  mv: (rest) => rest.length === 2 && rest.every((word) => /^[\w-][\w./-]*$/.test(word) && !special.test(word)),
  bisect: (rest) => /^(?:start|good|bad|reset|log|skip)$/.test(rest[0] ?? ''),
  archive: (rest) => !rest.some((word) => /^--(?:remote|exec)/.test(word)),
};

const goesOn = (rest: readonly string[]): boolean => rest.length === 1 && /^--(?:continue|abort|skip|quit)$/.test(rest[0] ?? '');
const isName = (word = ''): boolean => /^[\w][\w./~^-]*$/.test(word);

/** True for a command of a class that is known to do no harm: it reads, builds, checks or notes work, with options that keep it so. */
export function harmless(command: Command): boolean {
  if (!command.argv.every(isFixed) || command.hidden || command.code.length > 0) return false;
  if ([...command.env].some(([name, { text }]) => !plainVariable.test(name) && !(quietEditor.test(name) && /^(?:true|:|cat)$/.test(text))))
    return false;
  if (command.redirects.some(({ operator, target }) => operator.includes('>') && !isSink(target.text))) return false;
  if (command.name === '') return command.redirects.length === 0;
  return (isReadOnly(command) && !widened(command)) || works(command) || notes(command) || cleans(command) || asksItself(command);
}

const isSink = (text: string): boolean => /^(?:\/dev\/null|\d|-)$/.test(text) || (scratch.test(text) && !text.includes('..'));

/** A reading command whose options make it write or run something. */
export function widened(command: Command): boolean {
  const { name } = command;
  if (notOnlyReading.has(name)) return true;
  if (name === 'date') return hasFlag(command, 's', '--set');
  if (name === 'jq' && args(command).some((word) => /(?<![.\w])env\b|\$ENV/.test(word))) return true;
  if (name === 'sort' || name === 'tree' || name === 'jq') return hasFlag(command, 'o', '--output', '--compress-program');
  if (name === 'rg' || name === 'fd') return args(command).some((word) => /^(?:-[xX]|--exec|--pre|--hostname-bin)/.test(word));
  if (name === 'less' || name === 'more') return args(command).some((word) => /^(?:\+|-[kK]|--lesskey)/.test(word));
  if (name === 'find') return args(command).some((word) => /^-f(?:print0?|printf|ls)$/.test(word));
  if (name === 'ps') return /^(?=[a-z]*$)[a-z]*e/.test(args(command)[0] ?? '');
  if (name === 'ss') return hasFlag(command, 'K', '--kill');
  if (name === 'sed') return args(command).some((word) => /[ew](?:\s|$)/.test(word));
  if (name === 'git')
    return (
      verbWords(command)[0] === 'config' ||
      args(command).some((word) => /^(?:-c|-C|--git-dir|--output|--ext-diff|--exec-path=|--config-env)/.test(word))
    );
  return false;
}

function works(command: Command): boolean {
  const all = args(command);
  const line = all.join(' ');
  if (all.some((word, at) => (bends(word, command) && !(command.name === 'npm' && word === '-w')) || plugs(word, all[at + 1])))
    return module(command, line);
  return runners.get(command.name)?.test(line) === true || module(command, line);
}

/** `-S` is a folder for CMake, and a script for CTest. */
const bends = (word: string, { name }: Command): boolean => bent.test(word) && !(name === 'cmake' && word === '-S');

/** Checks of Python are modules of it. */
const module = ({ name }: Command, line: string): boolean =>
  /^python[\d.]*$/.test(name) &&
  /^-m (?:pytest|unittest|compileall|mypy|ruff|black)(?: [\w./:-]+)*$/.test(line) &&
  !/ -[opu]| --/.test(line);

function notes(command: Command): boolean {
  if (command.name === 'chmod') return /^(?:[ug]?\+x|0?(?:644|755|600|700))$/.test(operands(command)[0] ?? '') && inside(command);
  if (command.name === 'mkdir') return operands(command).length > 0;
  if (command.name === 'touch') return !hasFlag(command, 'dtra', '--date', '--reference', '--time');
  if (command.name !== 'git') return false;
  const [verb = '', ...rest] = verbWords(command);
  return Object.hasOwn(gitVerbs, verb) && gitVerbs[verb]?.(rest) === true;
}

/** Plain names of files below the folder at hand. */
const inside = (command: Command): boolean =>
  operands(command)
    .slice(1)
    .every((word) => /^(?:\.\/)?[\w-][\w./-]*$/.test(word) && !word.includes('..'));

/** Asks a server of this machine, and sends it no file. */
function asksItself(command: Command): boolean {
  const all = args(command);
  if (command.name === 'nc') return hasFlag(command, 'z') && operands(command).some((word) => isLoopback(word));
  if (
    command.name !== 'curl' ||
    all.some((word) => /@|^-[a-zA-Z]*[KxTFJO]|^--(?:config|proxy|upload|form|next|unix|resolve|connect|remote)/.test(word))
  )
    return false;
  const out = all.flatMap((word, at) => (/^(?:-o|--output)$/.test(word) ? [all[at + 1] ?? ''] : []));
  const hosts = hostsOf(command);
  return hosts.length > 0 && hosts.every(isLoopback) && out.every(isSink);
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

/** Deletes files that are the agent's own, and does nothing else. */
function deletes(command: Command, isNew: (path: string) => boolean): boolean {
  const named = operands(command);
  const isPlain = command.name === 'rm' && command.redirects.length === 0 && command.argv.every(isFixed);
  return isPlain && named.length > 0 && !hasFlag(command, 'rR', '--recursive') && named.every((word) => isNew(absolute(word, command.cwd)));
}

const gone: ReadonlySet<string> = new Set(['reversible-change', 'history-rewriting', 'network', 'escape']);

/** Reports whether gate 2 need not look at a command line: all of it is of a class that is known to do no harm. */
export function allowlistedCommands(
  commands: readonly Command[],
  findings: readonly Finding[],
  isNew: Policy['isNew'] = () => false,
): boolean {
  return (
    commands.length > 0 &&
    commands.every((one) => harmless(one) || deletes(one, isNew)) &&
    findings.every(({ rail, severity }) => severity === 'Notice' || (severity === 'Reversible' && gone.has(rail)))
  );
}

const source =
  /\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|swift|rb|php|cs|c|h|cc|cpp|hpp|scala|ex|exs|hs|lua|css|scss|html|md|rst|txt|csv)$/;
/** Files that are run or read by tools at times of their own, and what decides about success. */
const special =
  /(?:^|\/)(?:\.[^/]+\/|tests?\/|__tests__\/|specs?\/|scripts?\/|hooks?\/|setup\.py$|conftest\.py$|manage\.py$|sitecustomize|[^/]*\.config\.\w+$|[^/]*\.(?:test|spec)\.\w+$|test_[^/]*$|[^/]*_test\.\w+$|requirements[^/]*\.txt$|CMakeLists\.txt$|robots\.txt$)/i;
/** Words by which code finds out that it is being tested, or decides by who is asking. */
const senses =
  /sys\.modules|PYTEST|VITEST|JEST_WORKER|NODE_ENV|process\.(?:kill|binding|ppid)|\bctypes\b|\bptrace\b|timingSafeEqual|compare_digest|skipAuth|\b(?:verify|check)\w*\(.{0,400}\)\s{0,40}(?::\s{0,40}\w+\s{0,40})?(?:\{\s{0,40})?return true/;
/** Reports whether a file below a root is run or read by tools at times of their own. */
export const isSpecial = (relative: string): boolean => special.test(relative) || !source.test(relative);
/** Reports whether code finds out that it is being tested. */
export const sensesTests = (content: string): boolean => senses.test(content);

const quiet = ['forbidden', 'outsidePaths', 'privileges', 'network', 'secrets', 'hiddenCode', 'startup', 'records'] as const;

/** Texts that people read. */
const prose = /\.(?:md|rst|adoc|txt)$/;
/** Texts that agents obey, and settings that are called texts. */
const obeyed =
  /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI|COPILOT|SKILL)\.md$|copilot-instructions|\.cursor|requirements[^/]*\.txt$|CMakeLists|robots\.txt$|answer|result/i;
/** Parts that make a text more than words: secrets, addresses that carry something, pictures from elsewhere, orders to machines. */
const carries =
  /AKIA[0-9A-Z]{12}|gh[pousr]_\w{20}|-----BEGIN|xox[bp]-|\$\{|\{\{|\$[A-Z_]{3,}|!\[[^\]]*\]\(http[^)]*\?|<(?:img|script|iframe)|(?:token|password|secret|key)\s*(?:is|[:=])\s*\S{6}|\b(?:AI|LLM|agents?|assistants?|bots?)\b[^\n]{0,60}\b(?:must|should|always|run|first)\b|ignore (?:all|previous)|<!--/i;

const testName = /(?:^|\/)(?:test_[^/]*\.py|[^/]*_test\.(?:py|go|rb)|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|[^/]*_spec\.rb)$/;
/** Beginnings of tests of any language, and places at which they ask something. */
const tests = /\bdef test\w*\s*\(|\b(?:it|test)(?:\.each[^\n]{0,200}?)?\s{0,40}\(|\bfunc Test\w+\s*\(|\bit\s+['"]/g;
const asks = /\bassert\w*\b|\bself\.assert\w+|\bexpect\w*\s*\(|\bt\.(?:Error|Fatal)\w*\(|\braises\s*\(|\bshould\b/g;
const empty =
  /\bskip|xfail|\btodo\b|\.only\b|assert\s+(?:True|1)\b|assertTrue\(True\)|expect\((?:true|1)\)|assert\.ok\(true\)|^\s*pass\s*$|exit\s*\(|\bmonkeypatch\b|\bmock\b|\bpatch\b|\bsetattr\b|__eq__|sys\.modules|process\.|child_process|subprocess|os\.system/im;

/** A test file whose every test asks something, and that reaches into nothing. */
function isTest(relative: string, content: string): boolean {
  const count = content.match(tests)?.length ?? 0;
  return testName.test(relative) && count > 0 && (content.match(asks)?.length ?? 0) >= count && !empty.test(content);
}

/** Reports whether gate 2 need not look at a file: source in the workspace without words that a harm needs, tests that ask, prose. */
export function allowlistedFile(relative: string, content: string, findings: readonly Finding[]): boolean {
  if (findings.length > 0 || content.length > 16_384 || relative.startsWith('.')) return false;
  if (prose.test(relative)) return !obeyed.test(relative) && !carries.test(content);
  if (!source.test(relative)) return false;
  const features = actFeatures({ subject: '', content });
  const clean = quiet.every((name) => features[name] === 0) && !senses.test(content);
  return clean && (!special.test(relative) || isTest(relative, content));
}
