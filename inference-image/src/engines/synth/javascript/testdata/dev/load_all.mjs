/** Sum of the sizes of all items; each is loaded once. */
export async function totalSize(ids, load) {
  const unique = [...new Set(ids)];
  const items = await unique.map((id) => load(id));
  let total = 0;
  for (const item of items) {
    total += item.size;
  }
  return total;
}
