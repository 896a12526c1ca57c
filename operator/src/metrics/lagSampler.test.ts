import { expect, it } from 'vitest';
import { lookMs, sampleLag } from './eventLoop.ts';

/** A loop in virtual time: each look comes `late` ms after it was due. */
class Loop {
  time = 0;
  share = 0;
  late = 0;
  readonly lags: number[] = [];
  #next: { readonly at: number; readonly run: () => void } | undefined;

  constructor() {
    sampleLag({
      utilization: () => this.share,
      now: () => this.time,
      after: (ms, run) => (this.#next = { at: this.time + ms, run }),
      record: (lag) => this.lags.push(lag),
    });
  }

  /** Looks within so many ms. */
  pass(ms: number): number {
    const [end, before] = [this.time + ms, this.lags.length];
    while (this.#next !== undefined && this.#next.at + this.late <= end) {
      const { at, run } = this.#next;
      this.time = at + this.late;
      run();
    }
    this.time = Math.max(this.time, end);
    return this.lags.length - before;
  }
}

it('looks ten times a second while there is work, and once a second at rest', () => {
  const loop = new Loop();
  loop.share = 0.5;
  expect(loop.pass(10_000)).toBe(10_000 / lookMs.busy);
  loop.share = 0;
  loop.pass(10_000);
  expect(loop.pass(60_000)).toBe(60_000 / lookMs.resting);
});

it('reports how late it was, and looks often after a pause that the share of a second hides', () => {
  const loop = new Loop();
  loop.pass(10_000);
  loop.late = 150;
  loop.pass(2_500);
  expect(loop.lags.at(-1)).toBe(150);
  loop.late = 0;
  const before = loop.lags.length;
  loop.pass(250);
  expect(loop.lags.length - before).toBeGreaterThanOrEqual(1);
});
