import { Gauge, type Registry } from 'prom-client';

/** Labels and value of one series. A label that is left out is empty. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a gauge is called, and by what it is partitioned. */
export interface Named {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A gauge that is read from what is known when somebody asks, and has no series but those. */
export function sampledGauge(registry: Registry, { name, help, labelNames }: Named, read: () => Iterable<Sample>): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      gauge.reset();
      for (const { labels, value } of read()) gauge.set({ ...labels }, value);
    },
  });
}
