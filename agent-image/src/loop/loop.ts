import { newExecId } from '@agentfleet/keeper/client';
import type { ConversationMessage, TokenUsage } from '@agentfleet/protocol/chat';
import { asksForAnswer } from '../attempt/artifacts.ts';
import { AttemptFailure } from '../base/failure.ts';
import { createGate } from '../attempt/gate.ts';
import type { Outcome } from '../attempt/ports.ts';
import type { StrategyScope } from '../attempt/scope.ts';
import { proposers } from '../attempt/notes.ts';
import type { ModelReply } from '../models/models.ts';
import { McpServers, type Submission } from '../tools/index.ts';
import { act, callKeyOf, consider, factsOf, failingInPlace, isJudged, leftOut, whyLeftOut, type Acted, type ActScope } from './act.ts';
import { budgetOf, type TokenBudget } from './budget.ts';
import { spentBy, together } from './charges.ts';
import { anotherWay, chooseAct, judgementOf } from './chooseAct.ts';
import {
  planCompaction,
  summaryText,
  assertFits,
  compactionDue,
  corrected,
  dropping,
  initialCorrection,
  observationBound,
  observedTokens,
  overflowed,
  promptTokens,
  reminder,
  roomOf,
  type Rendered,
} from './context.ts';
import { controlSteps, howMany, isRisky, type MoreReason } from './compute.ts';
import { accountRefused, filesBack, generalistOf, openConversation, recordOf, type ChatExpert, type Conversation } from './conversation.ts';
import { assess } from './discipline.ts';
import { whenReachable, type Asking, type Charge, type Observing, type Paid, type TreeMark } from './notes.ts';
import { summarise } from './summary.ts';
import { brief, openCalls, type Transcript } from './transcript.ts';

/** Submissions that the checks may refuse before the attempt ends. */
const maxRefusedSubmissions = 5;
/**
 * The agent loop: ask the model → choose a proposal → gate and do its calls → observe → record, until it hands in and the
 * checks accept that. Each message is in the keeper's log before it is acted on, so that any worker goes on at the same one.
 *
 * @throws AttemptFailure Stuck, BudgetExceeded, PolicyViolation, CheckFailed, InvalidInput or Infrastructure
 */
export async function runLoop(at: StrategyScope): Promise<Outcome> {
  const servers = new McpServers(at.scope);
  try {
    const loop = await Loop.open(at, servers);
    try {
      for (;;) {
        const { submission } = loop.transcript;
        const outcome = submission === null ? null : await loop.handIn(submission);
        if (outcome !== null) return outcome;
        const ended = loop.transcript.open === null ? await loop.ask() : null;
        if (ended !== null) return ended;
        await loop.choose();
        await loop.act();
      }
    } catch (error) {
      // If the keeper cannot be reached, another worker finds out what is missing.
      const away = error instanceof AttemptFailure && error.failureClass === 'Infrastructure';
      if (!away) await loop.flush().catch(() => undefined);
      throw error;
    }
  } finally {
    await servers.close();
  }
}

class Loop {
  readonly #at: StrategyScope;
  readonly #conversation: Conversation;
  readonly #expert: ChatExpert;
  readonly #acts: ActScope;
  readonly #budget: TokenBudget;
  #correction = initialCorrection;
  /** Of the last reply: words about a server that drops parts of prompts. */
  #dropping = '';
  /** The last request that the gateway refused unanswered; it costs nothing. */
  #refused: string | null = null;
  /** Of this step: the planner's risk, and why more than one proposal was asked for. */
  #signals: { readonly risk: number | null; readonly more: MoreReason | null } = { risk: null, more: null };

  private constructor(at: StrategyScope, conversation: Conversation, expert: ChatExpert, acts: ActScope, budget: TokenBudget) {
    this.#at = at;
    this.#conversation = conversation;
    this.#expert = expert;
    this.#acts = acts;
    this.#budget = budget;
  }

  static async open(at: StrategyScope, servers: McpServers): Promise<Loop> {
    const { scope, prepared, baseline } = at;
    const { session, options, context } = scope;
    const expert = generalistOf(context.pool);
    const left = (charges: readonly Charge[]): readonly string[] => budgetOf(scope, expert, charges).left();
    const { conversation, tools } = await openConversation(at, expert, servers, left);
    const gate = createGate({ rails: options.rails, task: context.task, session, writing: 'Programs' }, baseline.protectedSet);
    const acts = {
      scope,
      prepared,
      baseline,
      gate,
      tools,
      memory: conversation.memory,
      conversation: conversation.transcript.began?.id ?? '',
    };
    const { charges } = conversation.transcript;
    // A worker that died may have reported less than the log knows.
    scope.meter.setTokens(spentBy(charges));
    return new Loop(at, conversation, expert, acts, budgetOf(scope, expert, charges));
  }

  get transcript(): Transcript {
    return this.#conversation.transcript;
  }

  /** Returns when all that this worker knows of the conversation is in the keeper's log. */
  flush(): Promise<void> {
    return this.#conversation.flush();
  }

  /** Asks the model for the next step: one proposal, and more where that one asks for them. Returns the end of one that stands still. */
  async ask(): Promise<Outcome | null> {
    const { scope } = this.#at;
    scope.meter.check();
    const ended = await this.#assess();
    if (ended !== null) return ended;
    await this.#hear();
    if (compactionDue(this.#rendered())) await this.#compact();
    await this.#remind();
    const proposer = proposers(scope.context.pool).indexOf(this.#expert.name);
    const control = controlSteps(this.transcript.acts, proposer, this.#at.baseline.checks);
    this.#signals = { risk: (await scope.context.decisionModels.control(control)).risk, more: null };
    const step = this.transcript.step + 1;
    scope.progress.say(`step ${step}: asking ${this.#expert.name}`);
    for (;;) {
      try {
        await this.#request(step, 1);
        await this.#askForMore(step);
        return null;
      } catch (error) {
        if (!(error instanceof AttemptFailure) || error.reason !== 'ContextExceeded') throw error;
        this.#correction = overflowed(this.#correction, this.#expert.chat, this.#expert.name);
        await this.#compact();
      }
    }
  }

  /** Proposals beside the first one, which are worth their price only where the gates would judge it. */
  async #askForMore(step: number): Promise<void> {
    const { compute } = this.#at.scope.context.decisionModels;
    const [first] = this.transcript.isLastTurn ? [] : (this.transcript.open?.proposals ?? []);
    if (compute.kMax < 2 || first === undefined || !first.calls.some(({ name }) => isJudged(this.#acts, name))) return;
    const { risk } = this.#signals;
    // A refusal comes back with its reason, which is worth more than another try; not a score's where much may be lost.
    const { byScore = false, why: refusal = '' } = isRisky({ risk }, compute) ? await consider(this.#acts, first, step) : {};
    const { n, why } = howMany({ entropyNats: first.entropyNats, refused: byScore, risk }, compute);
    this.#signals = { risk, more: why };
    if (n < 2) return;
    try {
      await this.#request(step, n - 1, byScore ? [anotherWay(first, refusal)] : []);
    } catch (error) {
      const mayGoOn = error instanceof AttemptFailure && error.failureClass !== 'Infrastructure' && error.reason !== 'ContextExceeded';
      // Paid proposals are acted on: the budget, or the model's server, has room for one more request, and not for several.
      if (!mayGoOn) throw error;
    }
  }

  /** Chooses the proposal to act on, by gate 1 and the energies of their acts. One proposal is no choice. */
  async choose(): Promise<void> {
    const { open } = this.transcript;
    if (open === null || open.chosen !== null) return;
    const { proposals, step } = open;
    const considered = proposals.length === 1 ? [] : await Promise.all(proposals.map((one) => consider(this.#acts, one, step)));
    const choice = considered.length === 0 ? { index: 0, margin: null, disagreement: null } : chooseAct(considered);
    const { index, margin, disagreement } = choice;
    const entropyNats = proposals[index]?.entropyNats ?? null;
    const energies = considered.map(({ energy }) => energy);
    this.#conversation.record('ReplyChosen', {
      step,
      index,
      at: this.#at.scope.context.clock.now(),
      signals: { ...this.#signals, entropyNats, disagreement, margin, energies, k: proposals.length },
      ...(considered.length > 0 && { considered: considered.map(judgementOf) }),
    });
  }

  /** Does the calls of the chosen proposal in their order. What follows a call that hands in is not run. */
  async act(): Promise<void> {
    const { open } = this.transcript;
    if (open === null) return;
    const calls = openCalls(open);
    for (const { call, index, cut } of calls) {
      this.#at.scope.context.signal.throwIfAborted();
      const planId = this.#at.scope.progress.step('repair', `${call.name} ${brief(call.arguments)}`);
      const resumed = this.#conversation.isResumedAt(open.step, index);
      const one = { call, index, cut, step: open.step, tree: this.#tree, resumed };
      const left = whyLeftOut(call, index, this.transcript.observedOf(open.step), this.transcript.isLastTurn);
      if (left === null) await this.flush();
      const began = this.#at.scope.context.clock.monotonic();
      const acted = left !== null ? leftOut(left, calls.length) : await act(this.#acts, one);
      const seconds = (this.#at.scope.context.clock.monotonic() - began) / 1000;
      await this.#observe({ step: open.step, index, call, calls: calls.length, left: left !== null, seconds }, acted);
      this.#at.scope.progress.change(planId, { state: acted.refused === undefined ? (acted.ok ? 'Done' : 'Failed') : 'Dropped' });
    }
  }

  /** Has the result proved: in place, then in a fresh container. What is refused goes back to the model. */
  async handIn({ answer, unreachable }: Submission): Promise<Outcome | null> {
    const { transcript } = this;
    await this.flush();
    this.#at.scope.progress.say('handed in; running the checks');
    const account = unreachable === true ? null : await accountRefused(this.#at, this.#conversation, answer);
    const failing = account === null ? await failingInPlace(this.#acts, transcript, this.#tree) : { text: account };
    const concluded = failing === null ? await this.#at.conclude(answer) : { refused: failing.text };
    if (!('refused' in concluded)) return concluded;
    const { refused } = concluded;
    if (unreachable === true)
      throw new AttemptFailure('Stuck', 'GoalUnreachable', `the model says that the goal cannot be reached: ${brief(answer)}`);
    if (transcript.refusedSubmissions + 1 >= maxRefusedSubmissions)
      throw new AttemptFailure('CheckFailed', 'StillFails', `${maxRefusedSubmissions} submissions were refused; the last one: ${refused}`);
    this.#conversation.refuse(failing ?? { text: refused }, maxRefusedSubmissions);
    return null;
  }

  /**
   * Nudges a conversation that stands still, once for a step, or announces its last turn. At its end a result that checks prove
   * counts, though the model only says that it is done, or looks at checks that hold.
   *
   * @throws AttemptFailure Stuck, PolicyViolation
   */
  async #assess(): Promise<Outcome | null> {
    const { transcript } = this;
    const { scope, baseline, conclude } = this.#at;
    const found = assess(transcript.traces, scope.context.clock.now());
    if (found.kind !== 'End') {
      if (found.text !== null) this.#conversation.notice(found.text, `step ${transcript.step}`);
      return null;
    }
    await this.flush();
    const provable = !baseline.holds && baseline.reviews.length === 0 && !asksForAnswer(scope.context.task.spec.checks);
    const isAtEnd = found.reason === 'NoAct' || transcript.holds;
    if (provable && isAtEnd && (await failingInPlace(this.#acts, transcript, this.#tree)) === null) {
      const concluded = await conclude(transcript.history.findLast(({ role }) => role === 'Assistant')?.text ?? '');
      if (!('refused' in concluded)) return concluded;
    }
    throw new AttemptFailure(found.class, found.reason, `${found.text}${this.#dropping}`);
  }

  get #tree(): TreeMark {
    const { tree } = this.transcript;
    if (tree === null) throw new Error('a conversation begins on a tree; report this fault');
    return tree;
  }

  /** Returns the request: System, goal and history as they were recorded, so that providers find the prefix in their caches. */
  #rendered(also: readonly ConversationMessage[] = []): Rendered {
    const messages = [...this.transcript.messages, ...also];
    return { messages, tools: this.#acts.tools.definitions, window: this.#expert.chat, correction: this.#correction };
  }

  /** One step's request. What the provider counts corrects the estimate of the next. @param also said once, in this request alone */
  async #request(step: number, n: number, also: readonly ConversationMessage[] = []): Promise<void> {
    const rendered = this.#rendered(also);
    assertFits(rendered, this.#expert.name);
    const { messages, tools, correction } = rendered;
    const prompt = promptTokens(messages, tools, correction);
    const { reply, request, charged } = await this.#pay({ step, messages, tools, prompt, n, most: this.#expert.chat.maxOutputTokens });
    this.#conversation.record('ModelReplied', { step, request, proposals: reply.proposals, charged });
    this.#count();
    // Some gateways count the prompt once for each of several proposals.
    const reported = n > 1 || reply.usage.estimated ? 0 : reply.usage.input;
    this.#dropping = dropping(correction, { estimated: prompt, reported });
    this.#correction = corrected(correction, { estimated: prompt, reported });
  }

  /** Lets the beginning of the conversation give way to a summary, by the model where it can, else to an extract. */
  async #compact(): Promise<void> {
    const { memory, transcript } = this.#conversation;
    if (transcript.history.length === 0) return;
    const rendered = this.#rendered();
    const record = await recordOf(this.#at, memory);
    const { messages, request: asked, maxOutputTokens: most } = planCompaction(rendered, record, (message) => memory.handleOf(message));
    this.#at.scope.progress.say('summarising the conversation, which grew too long');
    const { tools, correction } = rendered;
    const { step } = transcript;
    const send = (messages: readonly ConversationMessage[]): Promise<Paid | null> =>
      this.#summary({ step, messages, tools, prompt: promptTokens(messages, tools, correction), n: 1, most, inWords: true });
    const wasted = (one: Omit<Paid, 'reply'>): void => this.#conversation.record('ModelReplied', { ...one, step, proposals: [] });
    const { text, paid } = asked === null ? { text: null, paid: null } : await summarise(asked, send, wasted);
    const keep = (notes: string): { readonly handle?: () => string } => memory.kept(`${step}.notes`, notes);
    const summary = summaryText(rendered, messages, text, record, keep);
    const own = paid === null ? {} : { request: paid.request, charged: paid.charged };
    this.#conversation.keepTexts(step);
    this.#conversation.record('ConversationCompacted', { step, messages, summary, ...own });
    this.#count();
  }

  /** The model's summary; null where it cannot write one, and the extract has to do. */
  async #summary(asking: Asking): Promise<Paid | null> {
    try {
      return await this.#pay(asking);
    } catch (error) {
      if (!(error instanceof AttemptFailure) || error.failureClass === 'Infrastructure') throw error;
      return null;
    }
  }

  /** A request whose worst case is reserved in the log before it is sent. @throws AttemptFailure BudgetExceeded, Infrastructure */
  async #pay({ step, messages, tools, prompt, n, most, ...kind }: Asking): Promise<Paid> {
    const { context } = this.#at.scope;
    const request = newExecId();
    const reservation = this.#budget.reserve({ promptTokens: prompt, maxOutputTokens: most, n });
    const refused = this.#refused === null ? {} : { refused: this.#refused };
    this.#conversation.record('ModelAsked', { step, request, n, reserved: reservation.charge, ...refused });
    const { namespace = '', name, uid = '' } = context.task.metadata;
    await this.flush();
    const charges: Charge[] = [];
    const onBilled = (usage: TokenUsage | null): void => void charges.push(this.#budget.settle(reservation, usage));
    const asked = { ...kind, messages, tools, n, maxOutputTokens: reservation.maxOutputTokens, requestId: request, onBilled };
    const send = (): Promise<ModelReply> =>
      this.#at.models.complete(this.#expert, { ...asked, task: `${namespace}/${name}`, conversation: uid }, context.signal);
    const reply = await whenReachable(this.#at.scope, send).catch(async (error: unknown) => {
      // A request that is stopped may be answered, and its answer is not seen.
      if (context.signal.aborted) onBilled(null);
      if (charges.length > 0) {
        this.#conversation.record('ModelReplied', { step, request, proposals: [], charged: together(charges) });
        this.#count();
        if (!context.signal.aborted) await this.flush();
      } else if (error instanceof AttemptFailure && error.failureClass === 'AgentError') this.#refused = request;
      throw error;
    });
    charges.push(this.#budget.settle(reservation, reply.usage, reply.answeredBy));
    return { reply, request, charged: together(charges) };
  }

  #count(): void {
    this.#at.scope.meter.setTokens(spentBy(this.transcript.charges));
  }

  /** Messages of people reach the model at its next step, each once. */
  async #hear(): Promise<void> {
    const { context } = this.#at.scope;
    const { transcript } = this;
    for (const { id, text, by, snapshot } of context.messages()) {
      if (!transcript.hasOrder(id)) {
        const back = snapshot === undefined ? { said: '' } : await filesBack(this.#at.scope, transcript, snapshot);
        const { said, ...restored } = back;
        const words = `${by}: ${text}${said}`;
        this.#conversation.record('NoticeGiven', { step: transcript.step, origin: 'Person', text: words, order: id, ...restored });
        await this.flush();
      }
      context.messageTaken(id);
    }
  }

  /** Goal and open plan at the end of a long conversation, and the budget once it runs out. */
  async #remind(): Promise<void> {
    const { transcript } = this;
    const { goal } = this.#at.scope.context.task.spec;
    const budget = this.#budget.left();
    const left = budget.length === 0 ? [] : [`Budget left now: ${budget.join(', ')}.`];
    const due = reminder(transcript.history, { goal, constraints: this.#conversation.constraints, left, plan: transcript.plan });
    if (due !== null) this.#conversation.notice(due);
    const notice = this.#budget.notice();
    if (notice !== null) this.#conversation.notice(notice, 'budget');
  }

  /** Cuts what a call returned to what the model sees, and records it with all that follows from it. */
  async #observe({ step, index, call: { id, name }, calls, left, seconds }: Observing, acted: Acted): Promise<void> {
    const { memory, transcript } = this.#conversation;
    const { ok, refused, tree, restored, energy, submission } = acted;
    const correction = this.#correction;
    const bound = observationBound(roomOf(this.#rendered()), calls - index, observedTokens(transcript.history) * correction);
    const text = this.#conversation.shown(acted, { step, index }, { ...bound, correction });
    const plan = memory.takePlan();
    this.#conversation.record('CallObserved', {
      step,
      index,
      callId: id,
      callKey: callKeyOf(this.#acts.conversation, { step, index }),
      tool: name,
      text: text === '' ? '(no output)' : text,
      ok,
      ...(acted.look === true && { look: true }),
      ...(refused !== undefined && { refused }),
      ...(tree !== undefined && { tree }),
      ...(restored !== undefined && { restored }),
      ...(plan !== undefined && { plan }),
      ...(acted.process !== undefined && { process: acted.process }),
      ...(acted.holds !== undefined && { holds: acted.holds }),
      ...submission,
      ...(energy !== undefined && { energy }),
      ...(left ? { notRun: true } : factsOf(this.#acts, name, seconds)),
    });
    this.#at.scope.progress.count(transcript.step, transcript.step);
  }
}
