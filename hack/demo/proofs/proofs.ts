// hack, demo/proofs: printed report of chapters, facts and proofs of a demo. May import any package.

/** Report of a demo as it happens: chapters, facts, and proofs that hold or fail. */
export class Proofs {
  passed = 0;
  readonly #failed: string[] = [];

  get failed(): number {
    return this.#failed.length;
  }

  chapter(title: string): void {
    console.log(`\n${title}`);
  }

  fact(text: string): void {
    console.log(`     ${text}`);
  }

  /** States a proof. A proof that does not hold fails the demo at its end. */
  prove(claim: string, holds: boolean, seen = ''): void {
    const line = `  ${holds ? '✓' : '✗'}  ${claim}${seen === '' ? '' : ` — ${seen}`}`;
    if (holds) this.passed += 1;
    else this.#failed.push(line);
    console.log(line);
  }

  /** Prints the sum and what does not hold, and reports whether all held. */
  sum(): boolean {
    console.log(`\n${this.passed} of ${this.passed + this.failed} proofs hold.`);
    for (const line of this.#failed) console.log(line);
    return this.failed === 0 && this.passed > 0;
  }
}
