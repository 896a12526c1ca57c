/** Allows some calls per window of time. */
export class CallBudget {
  #used = 0;
  #windowStart = 0;
  readonly limit: number;
  readonly windowMillis: number;

  constructor(limit: number, windowMillis: number) {
    this.limit = limit;
    this.windowMillis = windowMillis;
  }

  take(now: number): boolean {
    if (now - this.#windowStart >= this.windowMillis) {
      this.#windowStart = now;
    }
    if (this.#used >= this.limit) return false;
    this.#used += 1;
    return true;
  }
}
