function parts(version: string) {
  return version.split('.');
}

/** Whether one release is newer than another, as in 1.10.0 and 1.9.2. */
export function isNewer(release: string, other: string): boolean {
  const [left, right] = [parts(release), parts(other)];
  for (let i = 0; i < 3; i += 1) {
    const [one = 0, two = 0] = [left[i], right[i]];
    if (one !== two) return one > two;
  }
  return false;
}
