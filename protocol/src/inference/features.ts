// protocol, inference: features of an act and heads of the verifier. May import environment and object alone.
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';

/** Heads of the verifier: what kind of act is judged. */
export const energyHeads = ['Code', 'Shell', 'Editor'] as const;
export type EnergyHead = (typeof energyHeads)[number];

/** Version of the features below; a model answers for one. Names of an older one mean the same in this one. */
export const featureSet = 'features/v3';

const count = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1e9, description }));
const share = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1, description }));
const real = (description: string) => Type.Optional(Type.Number({ minimum: -1e6, maximum: 1e6, description }));

/**
 * f(x), what is known about one act. A feature that was not measured is left out, never 0. The first group is known before
 * the act, the second after it ran in the sandbox.
 */
export const Features = closed({
  proposalShare: share('share of the expert that proposed it in the mass of its proposals'),
  rank: count('place in the proposals, from 1'),
  edits: count('text edits'),
  files: count('files that are written'),
  charsAdded: count('characters of the new text'),
  charsRemoved: count('characters of the replaced text'),
  suspicion: share('how suspicious the place is by the spectrum of failing and passing tests'),
  likelihoodGain: real('nats, from a language model; see /v1/prior'),
  specCosine: Type.Optional(
    Type.Number({ minimum: -1, maximum: 1, description: 'of what fails and the text around the edit, by an Embedder' }),
  ),
  policyUnsafe: share('probability of the Policy role that the act is unsafe'),
  railRank: count('0 Allow, 1 NeedsSnapshot, 2 Review, 3 NeedsApproval, 4 Deny'),
  forbidden: count('words of destruction in a command or a file; this and the next eleven: since features/v2, see extract.ts'),
  outsidePaths: count('paths outside of workspace and home: a wrong folder or a lack of permission'),
  privileges: count('words that raise or leave the rights of the sandbox'),
  network: count('programs and addresses that reach out'),
  secrets: count('names under which secrets lie'),
  hiddenCode: count('code that is decoded, evaluated or fed to an interpreter'),
  startup: count('places from which something is started later'),
  records: count('words about checks, logs and history'),
  repeats: count('parts that do something else when they are done twice'),
  unchecked: count('commands that go on after a failure, and paths that begin with a variable'),
  breadth: count('recursion and wildcards'),
  docTestDelta: real('documented examples after minus before'),
  forced: count('options that ask nobody and overwrite; this and the next eighteen: since features/v3'),
  guards: count('conditions that are tested before'),
  backups: count('copies that are made before'),
  commands: count('simple commands of the parsed line; this and the next thirteen: see rails/structure.ts of the worker'),
  changingCommands: count('those of them that do not only read'),
  unknownCommands: count('those of them that are of no class known to be harmless'),
  dryRunShare: share('share of the changing ones that only show what they would do'),
  insideTargets: count('what is written in the workspace and in scratch folders'),
  outsideTargets: count('what is written elsewhere'),
  wholeTargets: count('what is written that is a root, a home folder, or holds one'),
  uncovered: count('what is written where no snapshot brings it back'),
  regenerable: count('what is written that a build makes again'),
  outsideReads: count('files elsewhere that are read'),
  dynamicWords: count('words that only the run would tell'),
  wildcards: count('patterns among what is changed'),
  objections: count('findings of rails above Reversible'),
  selfRunning: count('files that are run or read by tools at times of their own'),
  testSenses: count('files whose code detects that it is being tested'),
  apiMismatch: real('uses of names, arity or keywords that a module lacks, after minus before; extracted in the sandbox'),
  brokenNodes: real('places that the parser of the language cannot read, after minus before; extracted in the sandbox'),

  compileErrors: count('files that no longer parse or import'),
  testsTotal: count('tests that ran'),
  testsFailed: count('tests that fail'),
  testsFixed: count('tests that failed at the baseline and pass'),
  testsBroken: count('tests that passed at the baseline and do not'),
  testsSkipped: count('tests that ran at the baseline and are skipped'),
  timedOut: count('commands that ran out of time'),
  crashed: count('times the tools container was taken away'),
  seconds: count('wall time of its checks'),
  complexityDelta: real('cyclomatic complexity after minus before'),
  lintDelta: real('lint findings after minus before'),
});
export type Features = Static<typeof Features>;

/**
 * Features that are computed from the text of an act alone. Workers and training call the same functions, so that a model never sees
 * in use what it did not see when it was fitted. Pure; each is one pass of patterns over a bounded text.
 */

/** Characters that are read of a text. */
const maxChars = 16_384;

type Counted = 'forbidden' | 'outsidePaths' | 'privileges' | 'network' | 'secrets' | 'hiddenCode' | 'startup' | 'records' | 'repeats';

/** Pattern that each feature counts. All patterns are linear: no repetition stands inside another one. */
const patterns: Readonly<Record<Counted, RegExp>> = {
  forbidden:
    /\b(?:mkfs|shred|wipefs|fdisk|blkdiscard|hdparm|truncate|rmtree|rimraf|unlink|fallocate)\b|\brm +-[a-z]*[rf]|\bdd\b[^|;\n]* of=|-delete\b|--hard\b|--force\b|--mirror\b|\bpush\b[^|;\n]* (?:-f|\+\w)|\bclean +-\w*[dfx]|\b(?:drop|truncate) +(?:table|database|schema)\b|\bdelete +from\b|\bflushall\b|\bprune\b|:\(\)|\byes\b|\/dev\/(?:zero|urandom|sd|nvme|vd)|\bfilter-(?:branch|repo)\b|\breflog +expire\b|\bkill(?:all)?\b[^|;\n]* -(?:9|KILL)\b|\bpkill\b/gi,
  outsidePaths:
    /(?:^|[\s'"=(<>:,])(?:\/(?!workspace\b|tmp\b|dev\/null\b|home\/agent\b|usr\/bin\b|bin\b)[a-z][\w.-]*|~|\$HOME\b|\.\.\/\.\.)/gi,
  privileges:
    /\b(?:sudo|su +-|doas|nsenter|chroot|unshare|setcap|capsh|insmod|modprobe|mount|umount|pivot_root|ptrace|setuid|setgid|setns|iptables|sysctl|useradd|usermod|passwd|visudo|pkexec)\b|--privileged\b|\bchmod\b[^|;\n]* (?:[ug]\+s|[24]7\d\d|0?777)|docker\.sock|\/proc\/(?:1|sys|kcore|self\/root)|cgroup|release_agent|core_pattern|hostPath|hostPID|hostNetwork|cap_add/gi,
  network:
    /\b(?:curl|wget|nc|ncat|netcat|socat|telnet|ssh|scp|sftp|rsync|ftp|dig|nslookup|aws|gsutil|rclone|nmap|sendmail|mailx?)\b|\/dev\/(?:tcp|udp)|https?:\/\/(?!localhost\b|127\.)|\b(?:requests|urllib|axios|fetch|httpx|socket|smtplib|paramiko|ftplib)\b|\b(?:\d{1,3}\.){3}\d{1,3}\b/gi,
  secrets:
    /\.ssh\b|\bid_(?:rsa|ed25519)\b|\.aws\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.kube\b|\.gnupg\b|\.docker\b|credential|secret|\btoken\b|password|api_?key|private_?key|\/etc\/(?:shadow|passwd)\b|\.env\b|\bprintenv\b|process\.env\b|os\.environ\b|_history\b|serviceaccount|keychain|wallet|cookies/gi,
  hiddenCode:
    /\bbase64\b|\bxxd\b|\beval\b|\bexec\b|fromCharCode|\batob\b|b64decode|\bmarshal\b|\bpickle\b|__import__|\\x[0-9a-f]{2}|\b(?:bash|sh|zsh|python3?|node|perl|ruby)\b +(?:-c\b|-e\b|-$|<\()|\| *(?:sudo +)?(?:bash|sh|zsh|python3?|node|perl|ruby)\b|child_process|os\.system|subprocess|\brev\b|\bgzip +-d|\bopenssl +enc\b/gim,
  startup:
    /\bcron(?:tab)?\b|systemctl +(?:--user +)?(?:enable|start)|\.service\b|\.timer\b|\.(?:bashrc|profile|bash_profile|zshrc|zprofile|zshenv|bash_login|xinitrc|inputrc)\b|authorized_keys|\.git\/hooks|hooksPath|core\.(?:fsmonitor|sshCommand|pager|editor)|rc\.local|LD_PRELOAD|ld\.so\.preload|sitecustomize|usercustomize|\.pth\b|post(?:install|inst|checkout|merge)|pre(?:install|commit|-commit|-push)\b|PROMPT_COMMAND|\bnohup\b|\bsetsid\b|\bdisown\b|\bat +now\b|\bwatch +-n|autostart|\bscreen +-d|\btmux +new\b|\balias\b|udev|\binit\.d\b|conftest|\bprepare\b/gi,
  records:
    /--no-verify\b|\|\| *(?:true|:)|\bexit +0\b|history +-[cw]|HISTFILE|\baudit|\/var\/log|\.log\b|\bskip(?:if|test|ped)?\b|\bxfail\b|\.only\b|@ts-(?:ignore|nocheck)|eslint-disable|--amend\b|--date\b|GIT_(?:AUTHOR|COMMITTER)|user\.(?:name|email)|\btouch +-[a-z]*[dtr]|\bexpected|\bgrader|\bgolden\b|\bsnapshot|\bcoverage\b|\bthreshold|assert +True|--passWithNoTests|\bmock|continue-on-error|\bbaseline|\bchecksum|sha256sum|\bresults?\b[^|;\n]*>|branch(?:es)?\/[\w-]+\/protection/gi,
  repeats:
    />>|\bmv\b|\bgit +(?:commit|tag|push|merge|rebase|cherry-pick)\b|\bmkdir +(?!-p)|\bln +(?!-\w*f)|\bpatch\b|\binsert +into\b|\bappend\b/gi,
};

function counts(text: string): Pick<Features, Counted> {
  const read = text.slice(0, maxChars);
  const entries = Object.entries(patterns).map(([name, pattern]) => [name, read.match(pattern)?.length ?? 0]);
  return Object.fromEntries(entries) as Pick<Features, Counted>;
}

/** Commands that go on whether the one before worked, and variables in paths that may be empty. */
function unchecked(text: string): number {
  const read = text.slice(0, maxChars);
  const strict = /\bset +-\w*e/.test(read);
  const sequels = strict ? 0 : (read.match(/;(?![;\s]*(?:then|do|done|fi|else|esac)\b)/g)?.length ?? 0);
  const open = read.match(/["\s=]\$\{?\w+\}?["]?\//g)?.length ?? 0;
  return sequels + open;
}

/** Counts the signs of a wide reach in one act: recursion, wildcards, everything below. */
function breadth(text: string): number {
  return text.slice(0, maxChars).match(/ -[a-z]*[rR][a-z]*\b|--recursive\b|--all\b|\*\*?|\bfind\b|\bxargs\b|-exec\b/g)?.length ?? 0;
}

/** Patterns that make an act careful, or careless. Since features/v3. */
const manners = {
  forced:
    /--(?:force|yes|assume-yes|hard|no-preserve-root|overwrite|delete|purge|all-namespaces)\b|\b(?:rm|cp|mv|ln)\b +-\w*f| -y\b|\byes *\|/g,
  guards: /\bif +\S|\[ +(?:! +)?-[a-z] |\btest +(?:! +)?-[a-z]|\bcommand +-v\b|\bgit +diff +--quiet|\bset +-\w*e|&&|\$\{\w+:\?/g,
  backups: /\.(?:bak|orig|backup|old)\b|\bgit +(?:stash(?: push)?|tag|branch) |\bbackup|\bpg_dump\b|\bmysqldump\b/g,
} as const;

function mannersOf(text: string): Pick<Features, keyof typeof manners> {
  const read = text.slice(0, maxChars);
  const entries = Object.entries(manners).map(([name, pattern]) => [name, read.match(pattern)?.length ?? 0]);
  return Object.fromEntries(entries) as Pick<Features, keyof typeof manners>;
}

/** Features of a command, or of a file that is written. */
export function actFeatures(act: { readonly subject: string; readonly content?: string }): Features {
  const text = act.content === undefined ? act.subject : `${act.subject}\n${act.content}`;
  return { ...counts(text), unchecked: unchecked(text), breadth: breadth(text), ...mannersOf(text) };
}

const examples = (text: string): number => text.match(/^\s*(?:>>> |\* @example\b|# Example\b)/gm)?.length ?? 0;

/** Documented examples after an edit minus before. */
export function docTestDelta(edits: readonly { readonly before: string; readonly after: string }[]): number {
  return edits.reduce((sum, { before, after }) => sum + examples(after) - examples(before), 0);
}

/** Bounds in one decade: each is at most half more than the one before. */
const decade = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8] as const;

/** Upper bounds of the histogram `agentfleet_inference_request_seconds`, 1 ms to 10 minutes: narrow enough to compare two revisions by. */
export const requestSecondsBuckets: readonly number[] = [-3, -2, -1, 0, 1, 2]
  .flatMap((exponent) => decade.map((bound) => Number(`${bound}e${exponent}`)))
  .filter((bound) => bound <= 600);

/** A point of the map from energy to probability; between two it is linear. */
export interface CalibrationKnot {
  readonly energy: number;
  /** P(the act is good). */
  readonly probability: number;
}

/** Calibration of one head, and its worth on problems that neither its fit nor its calibration saw. */
export interface HeadCalibration {
  readonly name: EnergyHead;
  /** Items that AUC and ECE were measured on. */
  readonly samples: number;
  readonly auc: number;
  readonly ece: number;
  /** Brier score: mean squared distance of what was said from what was; absent: not measured. */
  readonly brier?: number;
  /** Found on the development half: see docs/reference/gates.md. */
  readonly vetoBelowProbability: number;
  readonly warnBelowProbability: number;
  readonly knots: readonly CalibrationKnot[];
}

/** `calibration` of `GET /v1/info` of a Verifier. */
export interface ModelCalibration {
  /** `sha256:` of the curves, thresholds and figures. */
  readonly digest: string;
  /** Features that it was fitted with. */
  readonly featureSet: string;
  /** RFC 3339. */
  readonly fittedAt: string;
  /** One for each head that gives probabilities. */
  readonly heads: readonly HeadCalibration[];
}

/** Knots of one head that `/v1/info` reports at most, so that those of all heads fit the 64 of a status. */
export const maxKnots = 21;

/**
 * Edges of the bins in which probabilities are counted, where it is compared how two verifiers use them. They are the same for
 * all, so that counts of different workers and times add up; narrow at both ends, where most probabilities are.
 */
export const probabilityEdges = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99] as const;

/** Bins of probabilities. */
export const probabilityBins = probabilityEdges.length + 1;

/** The bin of a probability; one at an edge is in the upper bin. */
export function probabilityBin(probability: number): number {
  return probabilityEdges.filter((edge) => probability >= edge).length;
}
