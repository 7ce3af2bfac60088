/** The number whose shortest decimal text (as JSON prints it) reads back to the same float32: 33.33 for the float32 next to it. */
export const shortFloat32 = (value: number): number => {
  const float = Math.fround(value)
  if (!Number.isFinite(float)) return float
  // Nine digits tell any two float32 values apart.
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(float.toPrecision(digits))
    if (Math.fround(short) === float) return short
  }
  return Number(float.toPrecision(9))
}
