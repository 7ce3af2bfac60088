/**
 * Stored text of an event as JSON: the text itself. A text that is not one line in braces, which no version writes,
 * becomes a JSON string, so that the line of the event stays whole.
 */
export const storedText = (text: string): string =>
  text.startsWith('{') && text.endsWith('}') && !text.includes('\n') ? text : JSON.stringify(text)
