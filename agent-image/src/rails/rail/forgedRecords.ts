import { args, hasFlag, operands, origins, type Command } from '../shell/command.ts';
import { hasHole, hole, plain } from '../shell/marks.ts';
import { absolute } from '../shell/places.ts';
import { readTargets, writeTargets } from '../shell/targets.ts';
import { verbWords } from '../shell/readOnly.ts';
import { isTest } from './testTampering.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

/** Files that say how something went. */
const record =
  /(?:^|\/)(?:reports?|results?|test-results|junit|bench(?:marks?)?|coverage|grading|scores?)\/[^/]+\.(?:json|xml|txt|csv|html|tap|log|md)$|(?:^|\/)(?:results?|junit|test-report|score|grade|verdict|baseline|lcov|coverage(?:-summary)?)(?:[._-]\w+)?\.(?:json|xml|txt|csv|info|tap)$/i;
/** Programs that write what they are given, and measure nothing. */
const saying = /^(?:echo|printf|cat|tee|jq|yq|g?sed|perl|cp|truncate)$/;
/** Claims that a person looked, in place of that person. */
const claims =
  /\b(?:verified|approved|reviewed|accepted|tested|audited|signed[ -]?off)(?:[ _-]by\b|:)|\b(?:qa|review|approval|sign-?off)[ _-]?(?:ok|passed|approved|granted)\b/i;
/** Gives a value of its own to a member. */
const assigns = /(?:^|[^=!<>])(?:\|=|[*+/-]?=(?!=))/;
const happened = /\.log$|(?:^|\/)audit\w*\/[^/]+$/;
const auditLog = /(?:^|\/)(?:audit|ledger|journal)\w*\/[^/]+\.(?:jsonl|log|ndjson)$|(?:^|\/)audit[\w.-]*\.(?:jsonl|log|ndjson)$/;
const answer = /(?:^|\/)(?:expected|golden|goldens|answers?|solutions?|reference)(?:\/|[._-][\w.]*$)|\.(?:expected|golden)$/i;
const produced = /(?:^|\/)(?:out|output|outputs|build|dist|actual|answer|result)(?:\/|\.|$)/i;

/** Files that say what is checked. */
const checking =
  /(?:^|\/)(?:\.github\/workflows\/[^/]+|\.gitlab-ci\.yml|\.circleci\/config\.yml|\.?ci\.ya?ml|Jenkinsfile|azure-pipelines\.yml|Makefile|tox\.ini|noxfile\.py|setup\.cfg|pyproject\.toml|package\.json|\.coveragerc|codecov\.yml|tsconfig[\w.]*\.json|mypy\.ini|\.eslintrc[\w.]*|eslint\.config\.\w+|\.eslintignore|\.golangci\.ya?ml|\.flake8|ruff\.toml|\.pre-commit-config\.yaml|(?:vitest|jest|playwright|karma)\.config\.\w+|pytest\.ini|\.pylintrc|sonar-project\.properties)$/;
const weaker =
  /\|\|\s*(?:true|:|exit 0)|continue-on-error:? *true|allow_failure:? *true|passWithNoTests|fail[_-]under\W+(?:\d|[0-3]\d)\b|--reruns|"?strict"?:?\s*(?:=\s*)?false|noImplicitAny"?: *false|collect_ignore|--deselect|\bexit 0\b/;
/** An edit of one place shows more by its words than a whole file. */
const weakerEdit =
  /@ts-nocheck|--retries|omit\s*=|--ignore|\/\/?\s*\/?d\b.*(?:pytest|lint|test)|\/[^/\n]{0,80}(?:verif|check|audit|scan|test|lint|coverage)[^/\n]{0,80}\/d\b|(?:lines|branches|functions|statements)"?\s*:\s*\d|max-warnings|\bskip\b|xfail|--no-verify|\bdel(?:ete)?\b.*test|fail[_-]under/;

/** Results that were not measured, checks that no longer check, work in the name of another. */
export const forgedRecords: Rail = {
  id: 'forged-records',
  title: 'results that nobody measured, checks that are made weaker, work in the name of another',
  severity: 'Unknown',
  risk: 'Reversible',
  cure: 'Repair what is measured and measure again; whoever owns the check may make it weaker.',
  check(command) {
    const { name } = command;
    if (name === 'git') return named(command);
    const targets = writeTargets(command).map(plain);
    const mended = inPlace(command)
      ? targets.find((path) => happened.test(path) && !/^\/(?:var\/)?tmp\/[^/]+$/.test(absolute(path, command.cwd)))
      : undefined;
    if (mended !== undefined) return found('Unknown', `${name} changes what ${mended} says happened`);
    const claimed = /^(?:echo|printf)$/.test(name) && claims.test(plain(args(command).join(' '))) ? targets[0] : undefined;
    if (claimed !== undefined) return found('Unknown', `${name} notes in ${claimed} that somebody looked at it`);
    if (
      /^(?:jq|yq)$/.test(name) &&
      assigns.test(operands(command)[0] ?? '') &&
      operands(command)
        .slice(1)
        .some((path) => record.test(path))
    )
      return found('Unknown', `${name} changes figures that a measurement should write`);
    const chain = command.via.some((one) => /^(?:python|node|ruby|perl)/.test(one))
      ? targets.find((path) => auditLog.test(path))
      : undefined;
    if (chain !== undefined) return found('Unknown', `a program rewrites ${chain}, which says what happened`);
    const written = targets.find((path) => record.test(path));
    if (
      written !== undefined &&
      saying.test(name) &&
      !passedOn(command) &&
      (name !== 'cat' || command.redirects.some(({ operator }) => operator === '<<'))
    )
      return found('Unknown', `${name} writes ${written}, which a measurement should write`);
    if (
      /^(?:cp|install|ln|mv)$/.test(name) &&
      readTargets(command).some((path) => answer.test(plain(path))) &&
      targets.some((path) => produced.test(path))
    )
      return found('Unknown', `${name} takes the expected answer for the result`);
    return weakened(command, targets);
  },
};

/** Output that `tee` takes from what ran, or the exit status behind it: nobody says it. */
function passedOn(command: Command): boolean {
  const [text, ...more] = command.argv.slice(1);
  if (command.name === 'tee') {
    const sources = [...origins(command.stdin)];
    return sources.some(({ name }) => !filters.test(name)) && !sources.some(invents);
  }
  return (
    command.name === 'echo' &&
    more.length === 0 &&
    text?.from.length === 0 &&
    /^(?:exit|rc|status)(?: ?(?:code|status))?[:= ]{0,3}$/.test(text.text.split(hole, 1)[0] ?? '') &&
    text.text.endsWith(hole) &&
    command.redirects.every(({ operator }) => operator === '>>')
  );
}

const interpreters = /^(?:python[\d.]*|node|deno|bun|ruby|perl|php|(?:ba|da|z|k)?sh)$/;

/** Programs whose output is what they were given, or is the same whatever is there. */
const filters = /^(?:[efz]?grep|rg|head|tail|tr|sort|uniq|cut|column|rev|tac|fold|fmt|nl|paste|yes|seq|date|base64|basename|dirname)$/;
/** A program that may write what the act's text says: a printer, an editor, an interpreter of a line, one that only the run would tell. */
const invents = (command: Command): boolean =>
  command.name === '' ||
  hasHole(command.name) ||
  saying.test(command.name) ||
  /^[gm]?awk$/.test(command.name) ||
  (interpreters.test(command.name) &&
    (operands(command).length === 0 || args(command).some((text) => /^(?:-\w{0,9}[ceEpr]|--(?:eval|print)(?:=.*)?|eval)$/.test(text))));

/** An edit of what is there, not a line more. */
const inPlace = (command: Command): boolean =>
  (/^g?sed$/.test(command.name) && hasFlag(command, 'i', '--in-place')) || /^(?:perl|ruby)$/.test(command.name);

/** An edit after which a check answers yes. */
const answersYes =
  /s([/|#!,])[^\n]{0,200}(?:verif|valid|check|authenti|authori|signature|permit|allow|construct\w{0,20}event|equal|compare)[^\n]{0,200}?\1\s*(?:return\s+)?(?:true|True|1|nil|null|None)\b[^\n]{0,20}\1/i;

function weakened(command: Command, targets: readonly string[]): readonly Found[] {
  const edited = inPlace(command) && !targets.some(isTest) ? targets[0] : undefined;
  if (edited !== undefined && args(command).some((text) => answersYes.test(plain(text))))
    return found('Unknown', `${command.name} makes a check in ${edited} answer yes`);
  const path = targets.find((target) => checking.test(target));
  if (
    /(?:^|\/)\.(?:eslint|prettier|stylelint|docker)ignore$/.test(targets[0] ?? '') &&
    args(command).some((text) => /^(?:\*|\*\*\/?\*?|src\/?\**|\/)\s*$/.test(plain(text)))
  )
    return found('Unknown', `${command.name} leaves everything out of a check`);
  if (path === undefined) return nothing;
  const text = withoutQuestions(plain([command.stdin?.text ?? '', ...args(command)].join('\n')));
  const edits = /^(?:g?sed|perl|jq|yq|printf|echo)$/.test(command.name);
  return weaker.test(text) || (edits && weakerEdit.test(text))
    ? found('Unknown', `${command.name || 'a redirect'} makes the checks in ${path} weaker`)
    : nothing;
}

/** Leaves out steps that end where an object is not there, if no check comes after them. Pure. */
function withoutQuestions(text: string): string {
  const last = [...text.matchAll(/\b(?:test|lint|check|pytest|audit|verify|scan)\w*/g)].at(-1)?.index ?? -1;
  return text.replaceAll(/\bkubectl get [^\n|&;]{0,200}\|\| exit 0\b/g, (step, at: number) => (at > last ? '' : step));
}

/** Names that a scratch repository needs, as git commits for no one, and that are nobody's. */
const nobody =
  /^user\.(?:name=(?:\w|test(?:er)?|dev|agent|bot|demo|nobody|foo)|email=(?:\w|test(?:er)?|dev|agent|bot|demo|nobody|foo)@(?:\w|localhost|test|example(?:\.\w+)?))$/i;

function named(command: Command): readonly Found[] {
  const [verb = ''] = verbWords(command);
  const all = args(command).map(plain);
  if (!/^(?:commit|am|rebase|merge|tag|notes|cherry-pick)$/.test(verb)) return nothing;
  const person = all.find((text) => /^(?:--author(?:=|$)|user\.(?:name|email)=)/.test(text) && !nobody.test(text));
  if (person !== undefined) return found('Unknown', `git ${verb} is done in the name of another`);
  if ([...command.env.keys()].some((key) => /^GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)$/.test(key)))
    return found('Unknown', `git ${verb} is given another author or date`);
  const claim = all.find((text) => /^(?:Reviewed|Approved|Acked|Tested|Signed-off)-by:/im.test(text));
  if (claim !== undefined) return found('Unknown', `git ${verb} records a review or a test by somebody`);
  return verb === 'notes' && /^(?:add|edit|append)$/.test(operands(command)[1] ?? '') && hasFlag(command, 'f', '--force')
    ? found('Unknown', 'git notes replaces what was noted')
    : nothing;
}
