import type { Mutant } from './mutants.ts';

const solver = 'operator/src/placement/solver';
const memory = 'operator/src/placement/memory';
const property: Mutant['test'] = { kind: 'vitest', path: `${solver}/solve.property.test.ts` };
const box: Mutant['test'] = { kind: 'vitest', path: `${solver}/solve.test.ts` };
const estimate: Mutant['test'] = { kind: 'vitest', path: `${memory}/estimate.test.ts` };
const weights = 'protocol/src/weights';
const headers: Mutant['test'] = { kind: 'vitest', path: `${weights}/headers.test.ts` };

/** Of engines on GPUs. */
export const placement: readonly Mutant[] = [
  {
    guarantee: 'a slot with several tenants keeps more room free',
    file: `${solver}/occupancy.ts`,
    find: 'tenants > 1 ? shared : exclusive',
    replace: 'tenants > 2 ? shared : exclusive',
    test: property,
  },
  {
    guarantee: 'the bound of the search is never above what is possible',
    file: `${solver}/bound.ts`,
    find: 'return Math.max(beside + (bounds.pairs[depth] ?? 0), crowding)',
    replace: 'return beside + (bounds.pairs[depth] ?? 0) + crowding',
    test: property,
  },
  {
    guarantee: 'slots that only look the same are not skipped as mirrors',
    file: `${solver}/model.ts`,
    find: 'return sameLinks && !named;',
    replace: 'return !named;',
    test: property,
  },
  {
    guarantee: 'items that differ in their traffic are not exchanged for one another',
    file: `${solver}/search.ts`,
    find: 'return a.traffic.every((weight, index) => index === a.index || index === b.index || weight === b.traffic[index]);',
    replace: 'return true;',
    test: property,
  },
  {
    guarantee: 'a search that has no time left stays where all is',
    file: `${solver}/search.ts`,
    find: '    this.#keepCurrent();\n',
    replace: '',
    test: box,
  },
  {
    guarantee: 'a better placement is found after the first one',
    file: `${solver}/search.ts`,
    find: '    if (this.#ended()) return;\n',
    replace: '    if (this.#ended() || this.#best !== undefined) return;\n',
    test: property,
  },
  {
    guarantee: 'an unhealthy slot is nobody’s place',
    file: `${solver}/model.ts`,
    find: 'slot.healthy && (item.slots === undefined',
    replace: '(item.slots === undefined',
    test: property,
  },
  {
    guarantee: 'the most important items keep their place when not all fit',
    file: `${solver}/solve.ts`,
    find: 'rank(b) - rank(a) ||',
    replace: 'rank(a) - rank(b) ||',
    test: box,
  },
  {
    guarantee: 'shards are on GPUs that NVLink joins',
    file: `${solver}/model.ts`,
    find: 'nvlinked[slot]?.[next] === true && slots',
    replace: 'slots',
    test: box,
  },
  {
    guarantee: 'keys and values count both, on every layer',
    file: `${memory}/estimate.ts`,
    find: 'return 2 * layers * heads * headSize * elementBytes;',
    replace: 'return layers * heads * headSize * elementBytes;',
    test: estimate,
  },
  {
    guarantee: 'grouped-query attention is counted by its own heads',
    file: `${weights}/architecture.ts`,
    find: "kvHeads: size('num_key_value_heads', heads)",
    replace: 'kvHeads: heads',
    test: estimate,
  },
  {
    guarantee: 'a header that is cut is refused',
    file: `${weights}/byteReader.ts`,
    find: 'start + length > this.#bytes.byteLength',
    replace: 'start > this.#bytes.byteLength',
    test: headers,
  },
];
