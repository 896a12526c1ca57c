import type { V1ResourceRequirements } from '@kubernetes/client-node';
import { bytesOf } from '../placement/index.ts';
import { resourcesOf } from './pod.ts';
import type { ServerPods } from './server.ts';

/** Thousandths of cores. */
function coresOf(quantity: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,9})?)(m?)$/.exec(quantity) ?? [];
  return digits === undefined ? undefined : Math.ceil(Number(digits) * (unit === 'm' ? 1 : 1000));
}

function total(name: string, quantities: readonly (string | undefined)[]): string | undefined {
  const amounts = quantities.map((quantity) => (name === 'cpu' ? coresOf(quantity ?? '') : bytesOf(quantity ?? 'none')));
  const known = amounts.filter((amount) => amount !== undefined);
  // Without a limit of one of them there is none of all.
  if (known.length < amounts.length) return undefined;
  const sum = known.reduce((a, b) => a + b, 0);
  return name === 'cpu' ? `${sum}m` : String(sum);
}

type Amounts = Readonly<Record<string, string>>;

function summed(all: readonly Amounts[], absent: string | undefined): Record<string, string> {
  const names = [...new Set(all.flatMap((amounts) => Object.keys(amounts)))].filter((name) => name !== 'nvidia.com/gpu').sort();
  return Object.fromEntries(
    names.flatMap((name) => {
      const sum = total(
        name,
        all.map((amounts) => amounts[name] ?? absent),
      );
      return sum === undefined ? [] : [[name, sum]];
    }),
  );
}

/** What one container needs for several servers. What they say about GPUs is the plan's. Pure. */
export function sumAmounts(servers: readonly Pick<ServerPods, 'resources' | 'fallback'>[]): V1ResourceRequirements {
  const all = servers.map(({ resources, fallback }) => resourcesOf(resources, fallback));
  const requests = summed(
    all.map((one) => one.requests ?? {}),
    '0',
  );
  const limits = summed(
    all.map((one) => one.limits ?? {}),
    undefined,
  );
  return { requests, limits };
}
