import { requestSecondsBuckets } from '@agentfleet/protocol/inference';
import { withExemplars } from '@agentfleet/protocol/tracing/scrape';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The server's own registry; nothing is registered globally. Labels have few values: capabilities and codes of the contract. */
export class InferenceMetrics {
  readonly registry = new Registry();
  /** code: `ok` or the AF_ code of the refusal. */
  readonly requests = new Counter({
    name: 'agentfleet_inference_requests_total',
    help: 'Answers, by capability and code',
    labelNames: ['capability', 'code'],
    registers: [this.registry],
  });
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
  readonly refusals = new Counter({
    name: 'agentfleet_inference_refusals_total',
    help: 'Requests without a token that this server takes, by reason',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly candidates = new Counter({
    name: 'agentfleet_inference_candidates_total',
    help: 'Candidates returned',
    registers: [this.registry],
  });
  readonly batch = new Histogram({
    name: 'agentfleet_inference_batch_requests',
    help: 'Requests that an engine got at once',
    labelNames: ['capability'],
    buckets: [1, 2, 4, 8, 16, 32],
    registers: [this.registry],
  });
  readonly items = new Histogram({
    name: 'agentfleet_inference_batch_items',
    help: 'Acts, texts, candidates or steps in what an engine got at once',
    labelNames: ['capability'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers: [this.registry],
  });

  /** @param waiting requests in all queues */
  constructor(waiting: () => number, ready: () => boolean) {
    this.#gauge('agentfleet_inference_queue_waiting', 'Requests that wait for the engine', waiting);
    this.#gauge('agentfleet_inference_ready', '1 when the engine has proved that it answers', () => Number(ready()));
  }

  #gauge(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers: [this.registry], collect: () => gauge.set(read()) });
  }
}
