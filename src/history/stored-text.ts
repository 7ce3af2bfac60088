/**
 * Stored text of an event, unchanged. A text that is not one line with a JSON object, which no version writes, becomes
 * a JSON string, so that the answer stays valid.
 */
export const storedText = (text: string, parsed: object | undefined): string =>
  parsed && !/\p{Cc}/u.test(text) ? text : JSON.stringify(text)
