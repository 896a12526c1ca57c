import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { shortened } from '../base/text.ts';
import type { ModelProposal } from '../models/models.ts';

/** A proposal, and what is known of its first call before it is done. */
export interface ConsideredProposal {
  readonly proposal: ModelProposal;
  /** One of the gates would refuse it. */
  readonly refused: boolean;
  /** Rule that would refuse it, and the reason. */
  readonly why?: string;
  /** A score would, which another proposal may pass. A rule stands, and its refusal says what is allowed. */
  readonly byScore?: true;
  /** Energy of the act, lower is better; null where no verifier answers, or nothing has to be judged. */
  readonly energy: number | null;
  /** 0 (reads) … 1 (cannot be taken back), from gate 1. */
  readonly risk: number;
}

/** Returns the part of a considered proposal that the log keeps: the log has the proposal itself already. */
export function judgementOf({ refused, why, energy, risk }: ConsideredProposal): Omit<ConsideredProposal, 'proposal'> {
  return { refused, ...(why !== undefined && { why }), energy, risk };
}

/** Returns the notice with which other proposals are asked for beside one that a score would refuse. It is no part of the conversation. */
export function anotherWay({ calls: [first] }: Pick<ModelProposal, 'calls'>, why: string): ConversationMessage {
  const call = first === undefined ? '' : ` \`${first.name} ${shortened(first.arguments.replaceAll(/\s+/g, ' '), 80)}\``;
  return {
    role: 'User',
    origin: 'Notice',
    text: `You replied to this with${call}, which would be refused and was not done: ${why}. Reply again, in another way.`,
  };
}

export interface Choice {
  readonly index: number;
  /** Gap of energy to the second best; null for fewer than two. */
  readonly margin: number | null;
  /** Share of the proposals that say something else than the chosen one, 0…1. */
  readonly disagreement: number;
}

/**
 * Chooses the proposal to act on: one that is not refused before one that is, one with a call before one without, then the
 * lowest energy, then the lowest risk, then the model's own order. Pure.
 *
 * @throws RangeError without proposals
 */
export function chooseAct(considered: readonly ConsideredProposal[]): Choice {
  const order = considered
    .map((one, index) => ({
      ...one,
      index,
      keys: [one.refused ? 1 : 0, one.proposal.calls.length === 0 ? 1 : 0, one.energy ?? 0, one.risk],
    }))
    .toSorted((a, b) => {
      const at = a.keys.findIndex((key, n) => key !== b.keys[n]);
      return at < 0 ? a.index - b.index : (a.keys[at] ?? 0) - (b.keys[at] ?? 0);
    });
  const [best, second] = order;
  if (best === undefined) throw new RangeError('there is no proposal to choose from');
  const margin = second === undefined || best.energy === null || second.energy === null ? null : Math.abs(second.energy - best.energy);
  const others = considered.filter(({ proposal }) => actOf(proposal) !== actOf(best.proposal)).length;
  return { index: best.index, margin, disagreement: others / considered.length };
}

/** Returns the calls of a proposal as text, to find two that do the same. */
function actOf({ calls }: ModelProposal): string {
  return JSON.stringify(calls.map(({ name, arguments: text }) => [name, text]));
}
