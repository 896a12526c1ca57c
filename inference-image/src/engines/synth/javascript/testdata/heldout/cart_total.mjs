const freeFrom = 50;
const fee = 5;

/** What a cart costs: the discount first, then shipping unless enough is left. */
export function cartTotal(items, discount) {
  const subtotal = items.reduce((sum, item) => sum + item.price * item.count, 0);
  const discounted = subtotal * (1 - discount);
  const shipping = subtotal >= freeFrom ? 0 : fee;
  return discounted + shipping;
}
