import { evaluate } from './formula.js';

/** Cells by address; what begins with "=" is a formula. */
export class Sheet {
  constructor(cells = {}) {
    this.cells = { ...cells };
  }

  set(address, content) {
    this.cells[address] = content;
  }

  value(address) {
    const content = this.cells[address];
    if (content === undefined) return 0;
    if (typeof content === 'string' && content.startsWith('=')) {
      return evaluate(content.slice(1), (other) => this.value(other));
    }
    return content;
  }
}
