/** What a promise has come to by now: nothing yet, its value, or the error that it was rejected with. */
export const noted = <T>(promise: Promise<T>): readonly unknown[] => {
  const outcomes: unknown[] = []
  promise.then(
    (value) => outcomes.push(value),
    (error: unknown) => outcomes.push(error),
  )
  return outcomes
}
