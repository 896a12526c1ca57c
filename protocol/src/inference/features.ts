// protocol, inference: features of an act and heads of the verifier. May import environment alone.
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
