import { newExecId } from '@agentfleet/keeper/client';
import { maxNoteBytes } from '@agentfleet/protocol/keeper';
import type { Scope } from '../../attempt/scope.ts';
import type { Asked, Reservation, TokenBudget } from '../../loop/budget.ts';
import { spentBy } from '../../loop/charges.ts';
import type { LoopNotes } from '../../loop/notes.ts';
import type { Transcript } from '../../loop/transcript.ts';
import type { ModelProposal } from '../../models/models.ts';
import type { Answered } from './apis.ts';

/** Characters that are kept of a text of an answer that is too large for one note. */
const keptCharacters = 8000;

/** Charges of the requests of one program: each is in the event log before it is sent, and again with its result. */
export class Ledger {
  readonly #scope: Pick<Scope, 'context' | 'session' | 'meter'>;
  readonly #transcript: Transcript;
  readonly #budget: TokenBudget;

  constructor(scope: Pick<Scope, 'context' | 'session' | 'meter'>, transcript: Transcript, budget: TokenBudget) {
    this.#scope = scope;
    this.#transcript = transcript;
    this.#budget = budget;
    // A worker that died may have reported less than the log knows.
    scope.meter.setTokens(spentBy(transcript.charges));
  }

  /** Reserves the worst case of a request. @throws AttemptFailure BudgetExceeded */
  async reserve(asked: Asked): Promise<Reserved> {
    this.#scope.meter.check();
    const reservation = this.#budget.reserve(asked);
    const request = newExecId();
    const step = this.#transcript.step + 1;
    await this.#record('ModelAsked', { step, request, n: asked.n, reserved: reservation.charge });
    return { ...reservation, request, step };
  }

  /** Records an answer. Without usage it is charged as reserved. */
  async settle(reserved: Reserved, { proposals, usage, model }: Answered): Promise<void> {
    const charged = this.#budget.settle(reserved, usage, model === '' ? undefined : model);
    const { step, request } = reserved;
    await this.#record('ModelReplied', { step, request, proposals: fitting(proposals), charged });
  }

  async #record<K extends 'ModelAsked' | 'ModelReplied'>(kind: K, data: LoopNotes[K]): Promise<void> {
    const { session, context, meter } = this.#scope;
    await session.note(kind, { attempt: context.assignment.attempt, note: newExecId(), ...data });
    this.#transcript.apply(kind, data);
    meter.setTokens(spentBy(this.#transcript.charges));
  }
}

/** A request that fits the budget and is in the log. */
export interface Reserved extends Reservation {
  readonly request: string;
  readonly step: number;
}

function fitting(proposals: readonly ModelProposal[]): readonly ModelProposal[] {
  if (Buffer.byteLength(JSON.stringify(proposals)) < maxNoteBytes * 0.8) return proposals;
  return proposals.slice(0, 1).map((one) => ({
    ...one,
    text: one.text.slice(0, keptCharacters),
    calls: one.calls.slice(0, 2).map((call) => ({ ...call, arguments: call.arguments.slice(0, keptCharacters) })),
  }));
}
