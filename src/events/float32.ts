/** Returns the number with the shortest decimal text (in JSON) that reads back to the same float32, such as 33.33. */
export const shortFloat32 = (value: number): number => {
  const float = Math.fround(value)
  if (!Number.isFinite(float)) return float
  // Nine digits distinguish any two float32 values.
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(float.toPrecision(digits))
    if (Math.fround(short) === float) return short
  }
  return Number(float.toPrecision(9))
}
