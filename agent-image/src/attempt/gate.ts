import { basename } from 'node:path';
import type { AgentTask } from '@agentfleet/protocol/api';
import { forgery, type ProtectedSet } from '../checks/index.ts';
import { decisions, decisionTable, type Act, type Decision, type Finding, type Policy, type Rails } from '../rails/index.ts';
import type { Rewrite } from './edits.ts';
import type { SetupStep } from '@agentfleet/protocol/api';
import { AttemptFailure } from './failure.ts';

/** Gate 1 for the acts of one attempt. */
export interface Gate {
  /** Judges the files of a candidate before any of them is written. */
  judge(rewrites: readonly Rewrite[]): GateVerdict;
  /** Lets a command of the task's author pass unless the rails deny it; tells what they said. */
  admit(step: Pick<SetupStep, 'name' | 'command'>, field: string): Decision;
}

export interface GateVerdict {
  readonly allowed: boolean;
  readonly decision: Decision;
  /** True when a snapshot has to be there to go back to. */
  readonly snapshotFirst: boolean;
  /** Why it is refused; empty when it is not. */
  readonly why: string;
}

/** Rails that look at the path: what they find is not excused by the file having been like that before. */
const aboutPath: ReadonlySet<string> = new Set(['path-policy', 'secrets', 'test-tampering', 'tool']);

export interface GateOptions {
  readonly rails: Rails;
  readonly task: AgentTask;
  readonly roots: readonly string[];
  readonly absolute: (path: string) => string;
}

/** Whether edits of the agent are kept away from what decides about success: null before snapshot 0 is known. */
export function createGate({ rails, task, roots, absolute }: GateOptions, protectedSet: ProtectedSet | null): Gate {
  const workspace = absolute('').replace(/\/$/, '');
  const relative = (path: string): string => (path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path);
  const { profile, network } = task.spec.policy;
  const policy: Policy = {
    profile,
    roots,
    network: network.mode,
    protectedPaths: (path) => protectedSet !== null && protectedSet.why(relative(path)) !== null,
  };
  return {
    judge: (rewrites) => {
      const refused =
        protectedSet === null
          ? undefined
          : rewrites.map((one) => guarded(one, protectedSet) ?? forged(one, task)).find((why) => why !== null);
      if (refused !== undefined && refused !== null) return { allowed: false, decision: 'Deny', snapshotFirst: false, why: refused };
      const found = rewrites.flatMap((rewrite) => newFindings(rewrite, { rails, policy, absolute }));
      return verdictOf(found, profile, rewrites.length);
    },
    admit: (step, field) => {
      const verdict = rails.judge({ tool: 'ExecCode', argv: step.command, cwd: workspace }, policy);
      if (verdict.decision !== 'Deny') return verdict.decision;
      const worst = verdict.findings.find(({ severity }) => decisionTable[severity][profile] === 'Deny');
      const what = worst === undefined ? 'the policy' : `the rail ${worst.rail}: ${worst.reason}`;
      throw new AttemptFailure('InvalidInput', 'PolicyRefused', `${field} ${step.name} is refused by ${what}. ${worst?.cure ?? ''}`.trim());
    },
  };
}

/** Why a file may not be written, whatever its content. */
function guarded({ path, before }: Rewrite, set: ProtectedSet): string | null {
  if (path.startsWith('/') || path.split('/').some((part) => part === '..' || part === '.' || part === '')) {
    return `${path} is not a plain path below the workspace`;
  }
  const protection = set.why(path);
  if (protection !== null) return `${path} is protected: ${protection.why}`;
  if (set.holdsProtected(path)) return `protected files lie under ${path}`;
  if (set.derived(path)) return `${basename(path)} is made by running the checks`;
  const shadow = before === null ? set.shadows(path) : null;
  return shadow === null ? null : `${path}: ${shadow}`;
}

/** Code under test could say what its tests' runner says; see `forgery`. */
function forged({ path, before, after }: Rewrite, { spec }: AgentTask): string | null {
  return spec.protect.mode === 'Default' ? forgery(path, before?.toString('utf8') ?? '', after.toString('utf8')) : null;
}

interface Judging {
  readonly rails: Rails;
  readonly policy: Policy;
  readonly absolute: (path: string) => string;
}

/** What the rails find in the new content and did not find in the old one: an edit does not answer for the rest of its file. */
function newFindings({ path, before, after }: Rewrite, { rails, policy, absolute }: Judging): readonly Finding[] {
  const write = (content: Buffer): Act => ({ tool: 'FileWrite', path: absolute(path), content: content.toString('utf8') });
  const { findings } = rails.judge(write(after), policy);
  if (before === null || findings.length === 0) return findings;
  const old = new Set(rails.judge(write(before), policy).findings.map((one) => `${one.rail} ${one.reason}`));
  return findings.filter((one) => aboutPath.has(one.rail) || !old.has(`${one.rail} ${one.reason}`));
}

/** Nobody can review or approve a candidate yet, so what asks for it is refused: another candidate is tried instead. */
function verdictOf(findings: readonly Finding[], profile: Policy['profile'], files: number): GateVerdict {
  const ranks = findings.map(({ severity }) => decisions.indexOf(decisionTable[severity][profile]));
  const decision = decisions[Math.max(0, ...ranks)] ?? 'Allow';
  const allowed = decision === 'Allow' || decision === 'NeedsSnapshot';
  const worst = findings.find(({ severity }) => decisionTable[severity][profile] === decision);
  const why = allowed || worst === undefined ? '' : `${worst.rail}: ${worst.reason} (${decision})`;
  return { allowed, decision, snapshotFirst: decision !== 'Allow' || files > 1, why };
}
