import { keyOf, type Clock } from '@agentfleet/kube';
import type { Registry } from 'prom-client';
import { spendingName } from '../pools/names.ts';
import { bookOf, capOf, currentBook, spendingKey, spentOf, sumsOf, type Amount, type SpendingBook } from '../pools/spending.ts';
import type { Caches } from '../runtime/context.ts';
import { sampledGauges, type Sample } from './fleet.ts';

/** Namespaces of a pool that have series of their own: those that have spent most tokens. */
const mostNamespaces = 64;

type Books = Pick<Caches, 'pools' | 'configMaps'>;

/** Tokens as they are, money in the currency of the pool. */
function* samplesOf(labels: Readonly<Record<string, string>>, { tokens, micros }: Amount): Generator<Sample, undefined> {
  if (Number.isFinite(tokens)) yield { labels: { ...labels, unit: 'tokens' }, value: tokens };
  if (Number.isFinite(micros)) yield { labels: { ...labels, unit: 'money' }, value: micros / 1e6 };
  return undefined;
}

function namespacesOf(book: SpendingBook): readonly string[] {
  const names = [...new Set([...Object.keys(book.spent), ...book.held.map(({ namespace }) => namespace)])];
  const used = (name: string): number => spentOf(book, name)?.tokens ?? 0;
  return names.sort((a, b) => used(b) - used(a)).slice(0, mostNamespaces);
}

/** Registers what the tasks of pools with `spec.limits.spending` have spent in the window, what is set aside, and the caps. */
export function registerSpendingMetrics(registry: Registry, { pools, configMaps }: Books, clock: Pick<Clock, 'now'>): void {
  const open = () =>
    [...pools.lister.values()].flatMap((pool) => {
      const { spending } = pool.spec.limits ?? {};
      if (spending === undefined) return [];
      const text = configMaps.lister.get(`${pool.metadata.namespace ?? ''}/${spendingName(pool.metadata.name)}`)?.data?.[spendingKey];
      const book = bookOf(text);
      return book === null ? [] : [{ pool: keyOf(pool), spending, book: currentBook(book, spending.windowSeconds, clock.now()) }];
    });
  const gauge = sampledGauges(registry);
  const sums = (name: string, help: string, of: 'spent' | 'held'): void =>
    gauge(name, `${help}, partitioned by pool, unit (tokens or money) and namespace.`, ['pool', 'unit', 'task_namespace'], () =>
      open().flatMap(({ pool, book }) =>
        namespacesOf(book).flatMap((namespace) => [...samplesOf({ pool, task_namespace: namespace }, sumsOf(book, namespace)[of])]),
      ),
    );
  sums('agentfleet_spending_spent', 'Spending of ended attempts in the window', 'spent');
  sums('agentfleet_spending_set_aside', 'Bound on the spending of running attempts', 'held');
  const help = 'Caps of spec.limits.spending, partitioned by pool, unit and scope (Pool, Namespace).';
  gauge('agentfleet_spending_cap', help, ['pool', 'unit', 'scope'], () =>
    open().flatMap(({ pool, spending }) => [
      ...samplesOf({ pool, scope: 'Pool' }, capOf(spending)),
      ...samplesOf({ pool, scope: 'Namespace' }, capOf(spending.perNamespace)),
    ]),
  );
}
