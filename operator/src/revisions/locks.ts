interface Held {
  readonly owner: string;
  readonly name: string;
}

/**
 * Who is rolled out beside an EnergyModel: a generator and its verifier never change together, and the statuses that say
 * so may still be on their way to the caches.
 */
export class Locks {
  /** Owners by the key of the model. */
  readonly #held = new Map<string, Held[]>();

  /** `owner` is a key, `name` what people are told. */
  hold(model: string, owner: string, name: string): void {
    if (this.#held.get(model)?.some((held) => held.owner === owner) === true) return;
    this.release(owner);
    this.#held.set(model, [...(this.#held.get(model) ?? []), { owner, name }]);
  }

  release(owner: string): void {
    for (const [model, held] of this.#held) {
      const rest = held.filter((one) => one.owner !== owner);
      if (rest.length === 0) this.#held.delete(model);
      else this.#held.set(model, rest);
    }
  }

  /** Another one than `owner` that holds the lock of a model. Pools do not stand in each other's way, but in the model's. */
  holder(model: string, owner: string): string | undefined {
    return this.#held.get(model)?.find((held) => held.owner !== owner && (held.owner === model) !== (owner === model))?.name;
  }
}
