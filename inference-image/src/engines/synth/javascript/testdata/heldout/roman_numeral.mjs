const signs = [
  [10, 'X'],
  [9, 'IX'],
  [5, 'V'],
  [4, 'IV'],
  [1, 'I'],
];

/** A number below 40 in Roman signs. */
export function roman(number) {
  let rest = number;
  let text = '';
  for (const [value, sign] of signs) {
    while (rest > value) {
      text += sign;
      rest -= value;
    }
  }
  return text;
}
