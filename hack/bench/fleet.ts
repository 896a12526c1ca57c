import { join } from 'node:path';
import { silentLog, systemClock } from '@agentfleet/kube';
import { PartsClient } from '@agentfleet/agent/experts';
import { PoolDecisionModels, type FleetOptions } from '@agentfleet/agent/decision';
import { learnedParts, type LearnedPart } from '@agentfleet/eval';
import { PartServers } from '@agentfleet/eval/local';

const domains = ['*'];
const verifierDefaults = {
  batchMax: 8,
  timeoutMillis: 2000,
  vetoBelowProbability: 0.15,
  warnBelowProbability: 0.35,
  whenUnavailable: 'FailClosed',
} as const;
const compute = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };

interface PoolDecisionModelsOptions {
  readonly roles?: readonly Exclude<LearnedPart, 'Verifier'>[];
  /** Client that asks the parts: that of the servers, unless the caller listens in. */
  readonly parts?: FleetOptions['parts'];
}

/** The learned parts of a pool, and who asks them as a worker does. */
export class BenchFleet implements AsyncDisposable {
  readonly client = new PartsClient({ clock: systemClock, log: silentLog });
  readonly #servers: PartServers;
  readonly urls: Readonly<Record<LearnedPart, string>>;

  private constructor(urls: Record<LearnedPart, string>, servers: PartServers) {
    this.urls = urls;
    this.#servers = servers;
  }

  static async open(): Promise<BenchFleet> {
    const servers = new PartServers(join(import.meta.dirname, '..', '..'));
    const urls = await Promise.all(learnedParts.map(async (role) => [role, await servers.url(role)]));
    return new BenchFleet(Object.fromEntries(urls) as Record<LearnedPart, string>, servers);
  }

  /** Returns the models that ask the parts of these roles; the verifier is always one of them. */
  decisionModels({ roles = ['Planner', 'Policy', 'Embedder'], parts = this.client }: PoolDecisionModelsOptions = {}): PoolDecisionModels {
    const experts = roles.map((role) => ({ name: role, role, engine: 'Builtin', domains, url: this.urls[role] }) as const);
    const generalist = { name: 'gen', role: 'Generalist', engine: 'Synth', domains, url: 'http://127.0.0.1:1' } as const;
    const verifier = { name: 'ebm', url: this.urls.Verifier, ...verifierDefaults };
    const pool = { experts: [generalist, ...experts], verifier };
    return new PoolDecisionModels({ pool, compute, parts, name: 'bench.1.1', signal: new AbortController().signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers[Symbol.asyncDispose]();
  }
}
