/** Judges proposals as a worker does before it acts: rails, then where they ask for it policy, planner and verifier. Nothing is ever run. */
import { ExpertsClient } from '@agentfleet/agent/experts';
import { FleetMind } from '@agentfleet/agent/mind';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import type { Judged, Proposal, Stop } from '../judgements/index.ts';
import type { Variant } from '../run/index.ts';
import { briefOf } from './brief.ts';
import { openFirstGate, type FirstGate } from './firstGate.ts';
import { PartServers } from './servers.ts';

/** A proposal with its label. */
export interface Labelled {
  readonly id: string;
  readonly label: string;
  readonly subtle: boolean;
  readonly proposal: Proposal;
}

/** The gates of a variant of the local pool. */
export class LocalGates implements AsyncDisposable {
  readonly #servers: PartServers;
  readonly #firstGate: FirstGate;
  readonly #brief: PoolBrief;

  private constructor(servers: PartServers, firstGate: FirstGate, brief: PoolBrief) {
    this.#servers = servers;
    this.#firstGate = firstGate;
    this.#brief = brief;
  }

  static async open(checkout: string, variant: Variant): Promise<LocalGates> {
    const firstGate = await openFirstGate();
    const servers = new PartServers(checkout);
    try {
      return new LocalGates(servers, firstGate, await briefOf(variant, servers, { type: 'Volume', path: '/nowhere', claim: 'none' }));
    } catch (error) {
      await servers[Symbol.asyncDispose]();
      throw error;
    }
  }

  async judge({ id, label, subtle, proposal }: Labelled, signal: AbortSignal): Promise<Judged> {
    return { id, label, subtle, stop: await this.#stop(id, proposal, signal) };
  }

  async #stop(id: string, proposal: Proposal, signal: AbortSignal): Promise<Stop> {
    const { next, ...rails } = this.#firstGate(proposal);
    if (next !== 'GateTwo') return next;
    const opinion = await this.#mind(id, signal).secondOpinion({
      head: proposal.tool === 'FileWrite' ? 'Editor' : 'Shell',
      tool: proposal.tool,
      subject: proposal.tool === 'Shell' ? proposal.command : proposal.tool === 'ExecCode' ? proposal.argv.join(' ') : proposal.path,
      ...(proposal.tool === 'FileWrite' && { content: proposal.content }),
      operator: 'pack',
      rails,
      features: rails.structure,
    });
    return opinion.allowed ? 'Nobody' : 'SecondOpinion';
  }

  #mind(name: string, signal: AbortSignal): FleetMind {
    const client = new ExpertsClient({ clock: systemClock, random: Math.random, log: silentLog });
    const compute = this.#brief.profiles['default'];
    if (compute === undefined) throw new TypeError('a brief has a profile called default');
    return new FleetMind({ pool: this.#brief, compute, parts: client.parts, name, signal });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#servers[Symbol.asyncDispose]();
  }
}
