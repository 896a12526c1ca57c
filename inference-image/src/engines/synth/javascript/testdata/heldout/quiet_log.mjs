/** Passes a message on unless the same one was passed within the last seconds. */
export function quietLog(seconds, write) {
  const passed = new Map();
  return (text, now) => {
    const last = passed.get(text);
    const isNew = last === undefined || now - last >= seconds;
    if (isNew) {
      write(text);
    }
    passed.set(text, now);
  };
}
