/** Calls listeners in their order; one may take itself away while it is called. */
export class EventBus {
  #listeners = [];

  on(listener) {
    this.#listeners.push(listener);
    return () => {
      const at = this.#listeners.indexOf(listener);
      if (at !== -1) this.#listeners.splice(at, 1);
    };
  }

  emit(event) {
    for (const listener of this.#listeners) {
      listener(event);
    }
  }
}
