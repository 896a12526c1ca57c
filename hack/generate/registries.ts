import { createTransport, silentLog, systemClock } from '@agentfleet/kube';
import { Registry } from 'prom-client';
import { createMetrics } from '../../agent-image/src/http/metrics.ts';
import { InferenceMetrics } from '../../inference-image/src/base/metrics.ts';
import { GatewayMetrics } from '../../inference-image/src/gateway/metrics.ts';
import { readConfig } from '../../operator/src/config.ts';
import { registerProcessMetrics } from '../../operator/src/metrics/eventLoop.ts';
import { createOperator } from '../../operator/src/start.ts';
import { KeeperMetrics } from '../../sandbox-image/keeper/src/keeper/metrics.ts';

export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** A metric as a registry has it. */
export interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly labelNames?: readonly string[];
  readonly enableExemplars?: boolean;
}

const metricsOf = (registry: Registry): readonly Registered[] => registry.getMetricsAsArray() as unknown as readonly Registered[];

/** Metrics of all processes, in registries that are made as each process makes its own; nothing runs. */
export function registries(): Readonly<Record<'operator' | 'worker' | 'inference' | 'gateway' | 'keeper', readonly Registered[]>> {
  return {
    operator: metricsOf(operatorRegistry()),
    worker: metricsOf(createMetrics().registry),
    inference: metricsOf(
      new InferenceMetrics(
        () => 0,
        () => true,
      ).registry,
    ),
    gateway: metricsOf(new GatewayMetrics(() => new Map()).registry),
    keeper: metricsOf(
      new KeeperMetrics({
        storeBytes: () => Promise.resolve(0),
        quotaUsed: () => 0,
        quotaLimit: () => null,
        linkConnections: () => 0,
        egressParked: () => 0,
        egressOpen: () => 0,
        collected: () => ({ removed: 0, collections: 0, failures: 0, freedBytes: 0 }),
        ready: () => true,
      }).registry,
    ),
  };
}

function operatorRegistry(): Registry {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const config = readConfig({
    POD_NAMESPACE: 'agentfleet-system',
    POD_NAME: 'operator-0',
    ...Object.fromEntries(['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, 'example.com/image:1'])),
  });
  const transport = createTransport(
    { server: 'http://127.0.0.1:9', credentials: () => Promise.reject(new Error('nothing is asked')) },
    { userAgent: 'test', registry, clock: systemClock, log: silentLog },
  );
  createOperator({ config, transport, identity: 'test', clock: systemClock, random: () => 0, log: silentLog, registry });
  return registry;
}
