import { setTimeout as delay } from 'node:timers/promises';

/** Polls until the condition holds; fails after `ms`. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, ms = 5000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not true within ${ms} ms: ${condition.toString()}`);
    await delay(5);
  }
}
