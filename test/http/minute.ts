const leftOf = (now: number): number => 60_000 - (now % 60_000)

/** Waits until no minute ends within so many milliseconds: neither one of the rate limits nor one of the history of refusals, which go by clocks of their own. */
export const roomInMinute = async (ms = 20_000): Promise<void> => {
  for (;;) {
    const least = Math.min(leftOf(performance.now()), leftOf(Date.now()))
    if (least >= ms) return
    await new Promise((wake) => setTimeout(wake, least + 10))
  }
}
