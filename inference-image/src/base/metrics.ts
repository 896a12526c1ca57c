import { requestSecondsBuckets } from '@agentfleet/protocol/inference';
import { withExemplars } from '@agentfleet/protocol/tracing/scrape';
import { Counter, exponentialBuckets, Gauge, Histogram, Registry } from 'prom-client';

/** The server's own registry; nothing is registered globally. Labels have few values: capabilities and codes of the contract. */
export class InferenceMetrics {
  readonly registry = new Registry();
  /** code: `ok` or the AF_ code of the refusal. */
  readonly requests = this.#counter('agentfleet_inference_requests_total', 'Answers, by capability and code', ['capability', 'code']);
  readonly seconds = withExemplars(
    this.registry,
    new Histogram({
      name: 'agentfleet_inference_request_seconds',
      help: 'Time from the request to its answer, waiting included',
      labelNames: ['capability'],
      buckets: [...requestSecondsBuckets],
      registers: [],
      enableExemplars: true,
    }),
  );
  readonly refusals = this.#counter('agentfleet_inference_refusals_total', 'Requests without a token that this server takes, by reason', [
    'reason',
  ]);
  readonly candidates = this.#counter('agentfleet_inference_candidates_total', 'Candidates returned', []);
  readonly batch = this.#sizes('agentfleet_inference_batch_requests', 'Requests that an engine got at once', 6);
  readonly items = this.#sizes('agentfleet_inference_batch_items', 'Acts, texts, candidates or steps in what an engine got at once', 10);

  /** @param waiting requests in all queues */
  constructor(waiting: () => number, ready: () => boolean) {
    this.#gauge('agentfleet_inference_queue_waiting', 'Requests that wait for the engine', waiting);
    this.#gauge('agentfleet_inference_ready', '1 when the engine has proved that it answers', () => Number(ready()));
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #sizes(name: string, help: string, count: number): Histogram {
    return new Histogram({ name, help, labelNames: ['capability'], buckets: exponentialBuckets(1, 2, count), registers: [this.registry] });
  }

  #gauge(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers: [this.registry], collect: () => gauge.set(read()) });
  }
}
