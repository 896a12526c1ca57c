import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { WireUsage } from '@agentfleet/protocol/chat';
import type { Price } from '@agentfleet/protocol/gateway';
import { GatewayError } from './providers/gatewayError.ts';
import { withExemplars } from '@agentfleet/protocol/tracing/scrape';

/** Namespaces that get a label of their own; those of further ones are counted together. */
const namespacesMost = 200;
const millionth = 1e-6;

/** The gateway's own registry. Labels have few values: models of the file, codes of the contract, namespaces of tasks. */
export class GatewayMetrics {
  readonly registry = new Registry();
  /** result: `ok` or the code of the refusal. */
  readonly requests = this.#counter('agentfleet_gateway_requests_total', 'Answers to callers, by model and result', ['model', 'result']);
  readonly seconds = withExemplars(
    this.registry,
    new Histogram({
      name: 'agentfleet_gateway_request_seconds',
      help: 'Time from a request to the end of its answer, waiting and retries included',
      labelNames: ['model'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640],
      registers: [],
      enableExemplars: true,
    }),
  );
  /** result: `ok` or the code of the failure. */
  readonly #last = new Gauge({
    name: 'agentfleet_gateway_last_answer_timestamp_seconds',
    help: 'When requests to a model last ended, by result, retries included',
    labelNames: ['model', 'result'],
    registers: [this.registry],
  });
  readonly tokens = this.#counter('agentfleet_gateway_tokens_total', 'Tokens of answers, by kind: input, cached, output', [
    'model',
    'kind',
    'task_namespace',
  ]);
  readonly estimated = this.#counter('agentfleet_gateway_usage_estimated_total', 'Answers whose provider reported no usage', ['model']);
  readonly cost = this.#counter('agentfleet_gateway_cost_total', "Cost of answers by the models' prices, in their currency", [
    'model',
    'task_namespace',
  ]);
  readonly retries = this.#counter('agentfleet_gateway_retries_total', 'Requests to a provider that were repeated, by why', [
    'model',
    'code',
  ]);
  readonly fallbacks = this.#counter('agentfleet_gateway_fallbacks_total', 'Requests that another model took over', ['model', 'fallback']);
  readonly redactions = this.#counter('agentfleet_gateway_redactions_total', 'Secrets taken out of requests, by kind', ['kind']);
  readonly refusals = this.#counter('agentfleet_gateway_refusals_total', 'Requests without a token that the gateway takes, by reason', [
    'reason',
  ]);
  readonly #namespaces = new Set<string>();

  /** @param lanes requests under way and waiting, by model */
  constructor(lanes: () => ReadonlyMap<string, { readonly underWay: number; readonly waiting: number }>) {
    const gauge = (name: string, help: string, read: (lane: { underWay: number; waiting: number }) => number): void => {
      const own: Gauge = new Gauge({
        name,
        help,
        labelNames: ['model'],
        registers: [this.registry],
        collect: () => {
          own.reset();
          lanes().forEach((lane, model) => own.set({ model }, read(lane)));
        },
      });
    };
    gauge('agentfleet_gateway_in_flight', 'Requests to providers under way', ({ underWay }) => underWay);
    gauge('agentfleet_gateway_waiting', 'Requests that wait for their model', ({ waiting }) => waiting);
  }

  /** Waits for what is asked of a model, and keeps when it ended with which result. */
  async ended<T>(model: string, asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked;
      this.#last.setToCurrentTime({ model, result: 'ok' });
      return answer;
    } catch (error) {
      if (error instanceof GatewayError) this.#last.setToCurrentTime({ model, result: error.code });
      throw error;
    }
  }

  /** Counts the usage of an answer. */
  used(model: string, price: Price | undefined, task: string | undefined, usage: WireUsage): void {
    // Not `namespace`: a scrape sets that label to the namespace of the pod.
    const task_namespace = this.#namespaceOf(task);
    const { cached, input, output } = partsOf(usage);
    this.tokens.inc({ model, kind: 'input', task_namespace }, input);
    this.tokens.inc({ model, kind: 'cached', task_namespace }, cached);
    this.tokens.inc({ model, kind: 'output', task_namespace }, output);
    if (usage.estimated === true) this.estimated.inc({ model });
    if (price !== undefined) this.cost.inc({ model, task_namespace }, costOf(price, usage));
  }

  #namespaceOf(task = ''): string {
    const namespace = /^([a-z0-9][a-z0-9-]{0,62})\//.exec(task)?.[1] ?? 'none';
    if (this.#namespaces.size < namespacesMost) this.#namespaces.add(namespace);
    return this.#namespaces.has(namespace) ? namespace : 'other';
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}

/** Tokens of a request by kind; cached ones are part of the input. */
export function partsOf(usage: WireUsage): { readonly input: number; readonly cached: number; readonly output: number } {
  const cached = Math.min(usage.prompt_tokens_details?.cached_tokens ?? 0, usage.prompt_tokens);
  return { input: usage.prompt_tokens, cached, output: usage.completion_tokens };
}

/** Returns the cost of an answer, in the currency of the price. Pure. */
export function costOf(price: Price, usage: WireUsage): number {
  const { input, cached, output } = partsOf(usage);
  const sum = (input - cached) * Number(price.input) + cached * Number(price.cachedInput) + output * Number(price.output);
  return sum * millionth;
}
