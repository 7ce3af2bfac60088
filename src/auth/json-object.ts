/** Type guard for a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses a JSON object; undefined for any other text. */
export const objectIn = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Parses the JSON object in a part of a JWT; undefined for any other part. */
export const objectOfPart = (part = ''): Readonly<Record<string, unknown>> | undefined =>
  objectIn(Buffer.from(part, 'base64url').toString())
