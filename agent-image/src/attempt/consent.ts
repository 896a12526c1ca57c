import { docTestDelta, type Candidate, type Features } from '@agentfleet/protocol/inference';
import { decisions } from '../rails/index.ts';
import type { GateVerdict, Part, Proposal } from './gate.ts';
import type { SecondOpinion } from './ports.ts';
import type { Scope } from './scope.ts';
import { actionDigest } from './notes.ts';

/** Whether all who have a say agreed. */
export interface Consent {
  readonly allowed: boolean;
  /** Who refused and why; empty when it is allowed. */
  readonly why: string;
  /** A person said yes. */
  readonly approved: boolean;
  /** Of the last part that the verifier measured; absent: none was. */
  readonly energy?: number;
}

const possiblyDone = 'an earlier worker began its commands and their end was not seen: they may be done';

/**
 * Asks gate 2, and then a person, about what gate 1 leaves open or does not allowlist, or what may be done already.
 *
 * @param unseen see `EarlierRun`
 */
export async function consentTo(
  scope: Scope,
  candidate: Candidate,
  proposal: Proposal,
  verdict: GateVerdict,
  unseen = 0,
): Promise<Consent> {
  if (unseen > 0 && scope.context.task.spec.policy.approvals === undefined)
    return { allowed: false, approved: false, why: `${possiblyDone}; nobody can be asked whether to do it again` };
  let energy: number | null = null;
  const doubts: string[] = [];
  for (const part of [...verdict.review, ...verdict.scored]) {
    const opinion = await opinionOf(scope, candidate, proposal, part);
    energy = opinion.energy ?? energy;
    if (opinion.allowed) continue;
    // What no rail objects to and a person looks at anyway is the person's to refuse.
    const asked = verdict.scored.includes(part) && verdict.approval.includes(part);
    if (!asked)
      return {
        allowed: false,
        approved: false,
        why: `gate 2: ${opinion.why} (${part.findings[0] ?? 'a learned score; no rule objects'})${part.where}`,
        ...measuredAs(energy),
      };
    doubts.push(`gate 2 would refuse it: ${opinion.why}`);
  }
  if (verdict.approval.length === 0 && unseen === 0) return { allowed: true, approved: false, why: '', ...measuredAs(energy) };
  const evidence = [...(unseen === 0 ? [] : [possiblyDone]), ...verdict.approval.flatMap(evidenceOf), ...doubts];
  const measured = energy === null ? [] : [`energy ${energy.toFixed(3)}`];
  return { ...(await approve(scope, candidate, [...evidence, ...measured].join('; '), unseen)), ...measuredAs(energy) };
}

const measuredAs = (energy: number | null): Pick<Consent, 'energy'> => (energy === null ? {} : { energy });

/** What gate 2 makes of one part of a proposal. */
export async function opinionOf(scope: Scope, candidate: Candidate, proposal: Proposal, part: Part): Promise<SecondOpinion> {
  return scope.context.decisionModels.secondOpinion({
    head: part.tool === 'Shell' ? 'Shell' : 'Editor',
    tool: part.tool,
    subject: part.subject,
    ...(part.content !== undefined && { content: part.content }),
    operator: candidate.operator,
    rails: { decision: part.decision, risk: part.risk, findings: part.findings },
    features: { ...featuresOf(candidate, proposal, part), ...(await sourceFeatures(scope, proposal, part)) },
  });
}

/** Waits for a person's word about a candidate. @param evidence why it is held @param unseen see `EarlierRun` */
export async function approve(scope: Scope, candidate: Candidate, evidence: string, unseen: number): Promise<Consent> {
  const { edits, acts = [] } = candidate;
  const action = actionDigest(scope.context.task.metadata.uid ?? '', edits, acts, unseen);
  const { decision, by } = await scope.approvals.ask({ action, summary: summaryOf(candidate), evidence });
  if (decision === 'Approved') return { allowed: true, approved: true, why: '' };
  return { allowed: false, approved: false, why: `it was rejected ${by}` };
}

function evidenceOf({ subject, findings, risk, kinds }: Part): readonly string[] {
  const why = findings.length === 0 ? `risk ${risk}` : findings.slice(0, 3).join(', ');
  return [`${subject.slice(0, 120)}: ${kinds.join(' and ') || risk} (${why})`];
}

function summaryOf({ edits, acts = [], rationale }: Candidate): string {
  const files = [...new Set(edits.map(({ path }) => path))];
  const does = [...acts.map(({ command }) => `run: ${command}`), ...(files.length === 0 ? [] : [`edit ${files.join(', ')}`])].join('; ');
  return rationale === '' ? does : `${does} (${rationale})`;
}

/** What the text of a file tells that is to be written; only where a verifier reads it. */
async function sourceFeatures({ context: { decisionModels }, sources }: Scope, { rewrites }: Proposal, part: Part): Promise<Features> {
  const rewrite = part.tool === 'FileWrite' ? rewrites.find(({ path }) => path === part.subject) : undefined;
  if (rewrite === undefined || (decisionModels.reads?.('apiMismatch') !== true && decisionModels.reads?.('brokenNodes') !== true))
    return {};
  return sources.ofRewrite(rewrite);
}

function featuresOf({ score, rank, edits }: Candidate, { rewrites }: Proposal, part: Part): Features {
  const sum = (of: (edit: Candidate['edits'][number]) => string): number => edits.reduce((total, edit) => total + of(edit).length, 0);
  return {
    proposalShare: Math.min(1, Math.max(0, score)),
    rank,
    edits: edits.length,
    files: rewrites.length,
    charsAdded: sum(({ after }) => after),
    charsRemoved: sum(({ before }) => before),
    docTestDelta: docTestDelta(edits),
    railRank: decisions.indexOf(part.decision),
    ...part.structure,
  };
}
