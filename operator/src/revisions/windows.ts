import type { Rollout } from '@agentfleet/protocol/api';

type Window = NonNullable<Rollout['promotion']['windows']>[number];

const weekMinutes = 7 * 24 * 60;
const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

/** Seconds since Monday 00:00 UTC. */
function secondOfWeek(now: number): number {
  const date = new Date(now);
  const day = (date.getUTCDay() + 6) % 7;
  return ((day * 24 + date.getUTCHours()) * 60 + date.getUTCMinutes()) * 60 + date.getUTCSeconds();
}

function covers(window: Window, second: number): boolean {
  const [hours = 0, minutes = 0] = window.start.split(':').map(Number);
  return window.days.some((day) => {
    const begin = ((days.indexOf(day) * 24 + hours) * 60 + minutes) * 60;
    const since = (second - begin + weekMinutes * 60) % (weekMinutes * 60);
    return since < window.seconds;
  });
}

/** Whether promotions may happen at this moment; without windows they always may. Pure. `now` is wall time in ms. */
export function isWindowOpen(windows: readonly Window[] | undefined, now: number): boolean {
  return windows === undefined || windows.some((window) => covers(window, secondOfWeek(now)));
}
