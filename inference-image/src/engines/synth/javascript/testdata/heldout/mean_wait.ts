interface Visit {
  readonly arrived: number;
  readonly served: number;
}

/** Mean time between arrival and service, in whole minutes; 0 when nobody came. */
export function meanWait(visits: readonly Visit[]): number {
  let total = 0;
  for (const visit of visits) {
    total += visit.served - visit.arrived;
  }
  return Math.round(total / visits.length);
}
