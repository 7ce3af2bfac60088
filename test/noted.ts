/** Returns an array that receives the value or error of a promise; empty while pending. */
export const noted = <T>(promise: Promise<T>): readonly unknown[] => {
  const outcomes: unknown[] = []
  promise.then(
    (value) => outcomes.push(value),
    (error: unknown) => outcomes.push(error),
  )
  return outcomes
}
