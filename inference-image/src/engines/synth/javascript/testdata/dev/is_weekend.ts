/** Whether a date such as 2026-01-03 is a Saturday or Sunday. */
export function isWeekend(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`).getUTCDay();
  return day === 6 || day === 7;
}
