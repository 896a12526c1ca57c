import { basename } from 'node:path';
import type { AgentTask, ApprovalKind, SetupStep } from '@agentfleet/protocol/api';
import type { ShellAct } from '@agentfleet/protocol/inference';
import { definesMain, resultTampering, judgeChanges, type ProtectedSet, type Writing } from '../checks/index.ts';
import {
  decisions,
  decisionTable,
  highest,
  isHook,
  isTest,
  placeless,
  rails as allRails,
  risks,
  type Act,
  type Decision,
  type Finding,
  type NormalCommand,
  type Policy,
  type Rails,
  type Risk,
  type Verdict,
} from '../rails/index.ts';
import { sourceOf, type Rewrite } from '../features/index.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { SandboxSession } from './sandboxSession.ts';

/** A command line, and the text that it reads from its standard input. */
export interface CommandAct extends ShellAct {
  readonly stdin?: string;
}

/** Changes that a candidate or a call of a tool proposes: files first, then commands. Empty for reading calls. */
export interface Proposal {
  readonly rewrites: readonly Rewrite[];
  readonly acts: readonly CommandAct[];
  /** Calls of other machines, a line each: their effects are outside of the sandbox. */
  readonly outside?: readonly string[];
}

/** Gate 1 for the acts of one attempt. */
export interface Gate {
  /** Judges all that a candidate would do before any of it is done. */
  judge(proposal: Proposal): GateVerdict;
  /** Returns the commands of a line, and of what they read, that leave the sandbox; and whether the line changes its folder on the way. */
  outward(act: Pick<CommandAct, 'command' | 'stdin'>): { readonly external: readonly NormalCommand[]; readonly movesAbout: boolean };
  /** Lets a command of the task's author pass unless the rails deny it; returns their verdict. Set-up is there to leave settings behind. */
  admit(step: Pick<SetupStep, 'name' | 'command'> & Partial<Pick<SetupStep, 'network'>>, field: 'set-up step' | 'check'): Decision;
}

/** One file or command of a candidate, and what the rails say of it. */
export interface Part {
  readonly tool: 'Shell' | 'FileWrite';
  /** The command line; for FileWrite the path below the workspace. */
  readonly subject: string;
  /** The lines that FileWrite adds; all that it leaves in the file where a rail found something. */
  readonly content?: string;
  readonly decision: Decision;
  readonly risk: Risk;
  /** True when it is of a class that is known to do no harm. */
  readonly allowlisted: boolean;
  /** Its parsed form, for gate 2. */
  readonly structure: Verdict['structure'];
  /** `rail: reason`, the gravest first. */
  readonly findings: readonly string[];
  /** Alternative to what the gravest finding is about; empty where nothing was found. */
  readonly cure: string;
  /** The part of a command line that the gravest is about, as written; empty: all of it, or nothing was found. */
  readonly where: string;
  /** The commands of a line of several, as written; empty: it is one. */
  readonly commands: readonly string[];
  /** Kinds of acts, of those that a task can demand a person for. */
  readonly kinds: readonly ApprovalKind[];
}

export interface GateVerdict {
  /** False when it is refused permanently. Else it may be done once all in `review` and `approval` is allowed. */
  readonly allowed: boolean;
  readonly decision: Decision;
  readonly risk: Risk;
  /** True when a snapshot has to be there to go back to. */
  readonly snapshotFirst: boolean;
  /** Reason why it is refused, and what would be allowed; empty when it is not. */
  readonly why: string;
  readonly cure: string;
  /** Parts that gate 2 has to allow. */
  readonly review: readonly Part[];
  /** Parts that no rail objects to and none allowlists: gate 2 may refuse them, and need not be there. */
  readonly scored: readonly Part[];
  /** Parts that a person has to allow. */
  readonly approval: readonly Part[];
}

/** Refused files of an act that are named: each that it would meet next costs a step. */
const maxNamed = 3;

/** Rails that look at the path: what they find is not excused by the file having been like that before. */
const aboutPath: ReadonlySet<string> = new Set(['path-policy', 'secrets', 'test-tampering']);

export interface GateOptions {
  readonly rails: Rails;
  readonly task: AgentTask;
  readonly session: Pick<SandboxSession, 'roots' | 'absolute'>;
  /** Kind of changes that its acts write; without it small edits. */
  readonly writing?: Writing;
}

interface Judging {
  readonly rails: Rails;
  readonly policy: Policy;
  readonly absolute: (path: string) => string;
  readonly workspace: string;
  /** Tests that the agent may write, which may compare as they like. */
  readonly openTests: (path: string) => boolean;
}

/** Creates gate 1. It keeps acts of the agent away from what decides about success; `protectedSet` is null before snapshot 0 is known. */
export function createGate({ rails, task, session, writing }: GateOptions, protectedSet: ProtectedSet | null): Gate {
  const absolute = (path: string): string => session.absolute(path);
  const workspace = absolute('').replace(/\/$/, '');
  const relative = (path: string): string => (path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path);
  const { profile, network } = task.spec.policy;
  // A search has no use for tests of its own.
  const addable = (path: string): boolean => writing === 'Programs' && protectedSet?.addable(relative(path)) === true;
  const policy: Policy = {
    profile,
    roots: session.roots,
    network: network.mode,
    // Only those parts of a settings file are protected that bear on tests; its contents decide.
    protectedPaths: (path) =>
      protectedSet !== null && (protectedSet.why(relative(path))?.kind ?? 'Settings') !== 'Settings' && !addable(path),
    ownTests: addable,
    isNew: (path) => protectedSet?.isNew(relative(path)) === true,
  };
  const tampering = (one: Rewrite): string | null =>
    protectedSet === null || addable(one.path) ? null : (guarded(one, protectedSet) ?? forged(one, task, writing));
  const openTests = (path: string): boolean => addable(path) || (task.spec.protect?.mode === 'None' && isTest(path));
  const judging: Judging = { rails, policy, absolute, workspace, openTests };
  return {
    judge: ({ rewrites, acts, outside = [] }) => {
      const refused = rewrites.flatMap((one) => tampering(one) ?? []);
      if (refused.length > 0) return denied(refused.slice(0, maxNamed).join('; '));
      const written = rewrites.map((one) => judgeRewrite(one, judging));
      return verdictOf([...written, ...acts.map((one) => judgeAct(one, judging)), ...outside.map(outsidePart)], task);
    },
    outward: (one) => outwardOf(one, judging),
    admit: (step, field) => {
      const reaches = step.network !== undefined && step.network !== 'None';
      const own = reaches ? { ...policy, network: 'Allowed' as const } : policy;
      const { findings } = rails.judge({ tool: 'ExecCode', argv: step.command, cwd: workspace }, own);
      const found = findings.filter(({ rail }) => field === 'check' || rail !== 'persistence');
      const decide = ({ severity }: Finding): Decision => decisionTable[severity][profile];
      const worst = found.find((one) => decide(one) === 'Deny');
      if (worst === undefined) return highest(decisions, found.map(decide));
      const why = `${field} ${step.name} is refused by the rail ${worst.rail}: ${worst.reason}. ${worst.cure}`;
      throw new AttemptFailure('InvalidInput', 'PolicyRefused', why);
    },
  };
}

function denied(why: string): GateVerdict {
  const cure =
    'Change the code under test; files that no rule protects are free to change. New test files of their own are free too (test_*.py, *.test.js, *_test.go, *Test.java …); what else is protected only the author of the task can free, by spec.protect.except.';
  return { allowed: false, decision: 'Deny', risk: 'Unknown', snapshotFirst: false, why, cure, review: [], scored: [], approval: [] };
}

/** Returns the reason why protection keeps a file from being written; null: nothing does. */
function guarded({ path, before, after }: Rewrite, set: ProtectedSet): string | null {
  if (path.startsWith('/') || path.split('/').some((part) => part === '..' || part === '.' || part === '')) {
    return `${path} is not a plain path below the workspace`;
  }
  const protection = set.why(path);
  if (protection?.kind === 'Settings' && before !== null) {
    const change = { path, op: 'Modify', before: before.toString('utf8'), after: after.toString('utf8') } as const;
    if (judgeChanges([change], set).violations.length === 0) return null;
    return `${path} is protected where it bears on tests: ${protection.why}`;
  }
  if (protection !== null) return `${path} is protected: ${protection.why}`;
  if (set.holdsProtected(path)) return `protected files lie under ${path}`;
  if (set.derived(path)) return `${basename(path)} is made by running the checks, or lies in a folder that .gitignore leaves out`;
  if (before === null && set.joinsTests(path) && definesMain(after.toString('utf8')))
    return `${path}: the build takes it up by a pattern, and its function main comes before that of the library of tests`;
  const shadow = before === null ? set.shadows(path) : null;
  return shadow === null ? null : `${path}: ${shadow}`;
}

/** Code under test could print what its tests' runner prints; see `resultTampering`. */
function forged({ path, before, after }: Rewrite, { spec }: AgentTask, writing?: Writing): string | null {
  if (spec.protect.mode !== 'Default') return null;
  return resultTampering(path, before?.toString('utf8') ?? '', after.toString('utf8'), writing);
}

function judgeRewrite(rewrite: Rewrite, judging: Judging): Part {
  const { rails, policy, absolute, openTests } = judging;
  const findings = [...newFindings(rewrite, judging), ...(openTests(rewrite.path) ? [] : rails.judgeChange(sourceOf(rewrite)))];
  const added = addedLines(rewrite);
  const content = findings.length === 0 ? added : rewrite.after.toString('utf8');
  const judged = rails.judge({ tool: 'FileWrite', path: absolute(rewrite.path), content }, policy);
  const allowlisted = findings.length === 0 && (judged.allowlisted || rails.changesOnlyComments(sourceOf(rewrite)));
  return {
    ...reported(findings, policy, 'Reversible'),
    commands: [],
    allowlisted,
    structure: judged.structure,
    tool: 'FileWrite',
    subject: rewrite.path,
    content,
  };
}

/** Lines of the new content that the old one has nowhere: an edit does not answer for the rest of its file. */
function addedLines({ before, after }: Rewrite): string {
  const text = after.toString('utf8');
  if (before === null) return text;
  const old = new Set(before.toString('utf8').split('\n'));
  return text
    .split('\n')
    .filter((line) => !old.has(line))
    .join('\n');
}

/** Lists the rails' findings in the new content that the old one does not have: an edit does not answer for the rest of its file. */
function newFindings({ path, before, after }: Rewrite, { rails, policy, absolute }: Judging): readonly Finding[] {
  const write = (content: Buffer): Act => ({ tool: 'FileWrite', path: absolute(path), content: content.toString('utf8') });
  const { findings } = rails.judge(write(after), policy);
  if (before === null || findings.length === 0) return findings;
  const old = rails.judge(write(before), policy).findings.map((one) => `${one.rail} ${placeless(one.reason)}`);
  return findings.filter((one) => {
    const at = old.indexOf(`${one.rail} ${placeless(one.reason)}`);
    if (at !== -1) old.splice(at, 1);
    return at === -1 || aboutPath.has(one.rail) || (one.rail === 'persistence' && isHook(absolute(path)));
  });
}

/** Judges a command. The agent may not change what decides about success, even where others allow it: `verify` refuses it anyway. */
function judgeAct({ command, stdin }: CommandAct, { rails, policy, workspace }: Judging): Part {
  const act: Act = { tool: 'Shell', command, cwd: workspace, ...(stdin !== undefined && { stdin }) };
  const { findings, risk, decision, allowlisted, structure, simpleCommands } = rails.judge(act, policy);
  // Of what the rail finds, that is what it does not say where nothing is protected.
  const tampering = ({ rail }: Finding): boolean => rail === 'test-tampering';
  const unprotected = findings.some(tampering) ? rails.judge(act, { ...policy, protectedPaths: () => false }).findings : [];
  const excused = new Set(unprotected.filter(tampering).map(({ reason }) => reason));
  const tampers = findings.some((one) => tampering(one) && !excused.has(one.reason));
  // With the network open the rails have nothing to say about what uses it; a task that demands a person for that has.
  const closed = policy.network === 'Allowed' ? rails.judge(act, { ...policy, network: 'Loopback' }).findings : [];
  const part = reported(findings, policy, risk, command);
  const kinds = [...new Set([...part.kinds, ...kindsOf(closed, risk).filter((kind) => kind === 'External')])];
  const commands = partsOf(command, simpleCommands);
  return {
    ...part,
    kinds,
    allowlisted,
    structure,
    commands,
    decision: tampers ? 'Deny' : decision,
    tool: 'Shell',
    // With its standard input as a here-document: gate 2 and people read both.
    subject: stdin === undefined ? command : `${command} <<'STDIN'\n${stdin.replace(/\n?$/, '\n')}STDIN`,
  };
}

const maxParts = 8;

/** The commands of a line as they are written; none where it is one, or where one stands within another. */
function partsOf(line: string, commands: readonly NormalCommand[]): readonly string[] {
  const spans = commands.filter(({ via }) => via.length === 0).map(({ span }) => span);
  const outer = spans.filter(
    (one, at) =>
      !spans.some(
        (other, n) =>
          n !== at && other.start <= one.start && one.end <= other.end && (other.end - other.start > one.end - one.start || n < at),
      ),
  );
  return outer.length < 2 || outer.length > maxParts ? [] : outer.map(({ start, end }) => line.slice(start, end));
}

const maxQuote = 120;

/** Returns the line of a program, or the part of a text, that a finding is about; `''` where that is all of the text. */
function quoteOf(text: string, { span: { start, end }, line }: Finding): string {
  if (line !== undefined) {
    const { number, file } = line;
    const where = [...(number === undefined ? [] : [`line ${number}`]), ...(file === undefined ? [] : [file])].join(' of ');
    return ` (${where === '' ? 'in' : `${where}:`} \`${line.text}\`)`;
  }
  const part = text.slice(start, end).replaceAll(/\s+/g, ' ').trim();
  if (part === '' || part === text.replaceAll(/\s+/g, ' ').trim()) return '';
  return ` (in \`${part.length <= maxQuote ? part : `${part.slice(0, maxQuote - 1)}…`}\`)`;
}

/**
 * A call of a server that pool and task name: no rail reads it, none allowlists it. Gate 2 scores it, and a person is asked where
 * the task wants to be asked about what other machines see.
 */
function outsidePart(subject: string): Part {
  return {
    tool: 'Shell',
    subject,
    decision: 'Allow',
    risk: 'External',
    allowlisted: false,
    structure: {},
    findings: [],
    cure: '',
    where: '',
    commands: [],
    kinds: ['External'],
  };
}

/** Rails that find what other machines see. */
const outwardRails: ReadonlySet<string> = new Set(['exfil', 'network', 'fetch-to-exec', 'escape']);

/** Judged as if the network were closed: where it is open the rails have nothing to say about what uses it. */
function outwardOf({ command, stdin }: Parameters<Gate['outward']>[0], { rails, policy, workspace }: Judging): ReturnType<Gate['outward']> {
  const act: Act = { tool: 'Shell', command, cwd: workspace, ...(stdin !== undefined && { stdin }) };
  const { findings, simpleCommands } = rails.judge(act, { ...policy, network: 'Loopback' });
  const spans = new Set(findings.filter(({ rail }) => outwardRails.has(rail)).map(({ span }) => `${span.start} ${span.end}`));
  const external = simpleCommands.filter(({ span }) => spans.has(`${span.start} ${span.end}`));
  return { external, movesAbout: simpleCommands.some(({ argv: [program] }) => program === 'cd' || program === 'pushd') };
}

/** @param text what the spans of the findings are about; absent: none is quoted */
function reported(
  findings: readonly Finding[],
  { profile }: Policy,
  risk: Risk,
  text = '',
): Omit<Part, 'tool' | 'subject' | 'allowlisted' | 'structure' | 'commands'> {
  const decide = ({ severity }: Finding): Decision => decisionTable[severity][profile];
  const byRank = findings.toSorted((a, b) => decisions.indexOf(decide(b)) - decisions.indexOf(decide(a)));
  return {
    decision: highest(decisions, findings.map(decide)),
    risk,
    findings: byRank.map(({ rail, reason }) => `${rail}: ${reason}`),
    cure: byRank[0]?.cure ?? '',
    where: byRank[0] === undefined ? '' : quoteOf(text, byRank[0]),
    kinds: kindsOf(findings, risk),
  };
}

const railRisks: ReadonlyMap<string, Risk> = new Map(allRails.map(({ id, risk }) => [id, risk]));

/** Lists kinds of acts. A deletion counts as destruction, though a snapshot brings it back: a person is asked where a task demands it. */
function kindsOf(findings: readonly Finding[], risk: Risk): readonly ApprovalKind[] {
  const found = new Set<Risk>([risk, ...findings.map(({ rail }) => railRisks.get(rail) ?? 'Unknown')]);
  if (findings.some(({ rail }) => rail === 'reversible-change')) found.add('Destructive');
  return (['Destructive', 'External'] as const).filter((kind) => found.has(kind));
}

function verdictOf(parts: readonly Part[], { spec }: AgentTask): GateVerdict {
  const decision = highest(
    decisions,
    parts.map((one) => one.decision),
  );
  const risk = highest(
    risks,
    parts.map((one) => one.risk),
  );
  const { approvals } = spec.policy;
  const demanded = (part: Part): boolean => part.kinds.some((kind) => approvals?.require.includes(kind) === true);
  const refusing: readonly Decision[] = approvals === undefined ? ['NeedsApproval', 'Deny'] : ['Deny'];
  const refused = parts.find((one) => one.decision === decision && refusing.includes(decision));
  const files = parts.filter(({ tool }) => tool === 'FileWrite').length;
  return {
    allowed: refused === undefined,
    decision,
    risk,
    snapshotFirst: decision !== 'Allow' || files > 1 || files < parts.length,
    why: refused === undefined ? '' : `${refused.findings[0] ?? 'the policy'}${refused.where} (${decision})`,
    cure: refused?.cure ?? '',
    review: parts.filter((one) => one.decision === 'Review'),
    scored: parts.filter((one) => !one.allowlisted && (one.decision === 'Allow' || one.decision === 'NeedsSnapshot')),
    approval: parts.filter((one) => one.decision === 'NeedsApproval' || demanded(one)),
  };
}
