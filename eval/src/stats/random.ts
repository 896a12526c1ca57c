/** Numbers in [0, 1), the same for the same seed everywhere. */
export type Random = () => number;

/** mulberry32 (T. Ettinger, public domain): 32 bits of state, enough to resample and to draw samples; never for secrets. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** As many draws with replacement as there are items. */
export function resample<T>(items: readonly T[], random: Random): T[] {
  return items.map(() => items[Math.floor(random() * items.length)] as T);
}
