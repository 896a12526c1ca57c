/** Shannon entropy of weights after normalisation, in nats; 0 for none. */
export function entropyNats(weights: readonly number[]): number {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (sum <= 0) return 0;
  let entropy = 0;
  for (const weight of weights) {
    const share = weight / sum;
    if (share > 0) entropy -= share * Math.log(share);
  }
  return Math.max(0, entropy);
}
