// Pages without a script of their own: times in the reader's zone.
import { localTimes } from "./dom.js";

localTimes(document);
