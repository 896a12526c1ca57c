interface Job {
  readonly id: string;
  readonly urgent: boolean;
}

/** Urgent jobs go first; otherwise the oldest is next. */
export class JobQueue {
  readonly #jobs: Job[] = [];

  add(job: Job): void {
    if (job.urgent) this.#jobs.unshift(job);
    else this.#jobs.push(job);
  }

  next(): Job | undefined {
    return this.#jobs.pop();
  }

  get length(): number {
    return this.#jobs.length;
  }
}
