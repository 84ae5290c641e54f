// SPDX-License-Identifier: BSD-3-Clause
// Searches an index of the documentation by lunr, as its pages do: node search.js LUNR INDEX PHRASES. Prints, for each
// phrase, the pages found, best first.
const { readFileSync } = require("fs");
const [, , library, file, words] = process.argv;
const lunr = require(library);
const { config, docs } = JSON.parse(readFileSync(file));
lunr.tokenizer.separator = new RegExp(config.separator);

const index = lunr(function () {
  this.ref("place");
  this.field("title", { boost: config.fields.title.boost });
  this.field("text", { boost: config.fields.text.boost });
  this.pipeline.remove(lunr.stemmer);
  this.searchPipeline.remove(lunr.stemmer);
  docs.forEach(({ title, text, boost }, place) =>
    this.add({ place, title, text: text.replace(/<[^>]*>/g, " ") }, { boost: boost || 1 }));
});

function pages(phrase) {
  const results = index.query(query => lunr.tokenizer(phrase).filter(lunr.stopWordFilter).forEach(token =>
    query.term(token.toString(), { presence: lunr.Query.presence.REQUIRED })));
  return [...new Set(results.map(({ ref }) => docs[ref].location.split("#")[0]))];
}
console.log(JSON.stringify(Object.fromEntries(JSON.parse(words).map(phrase => [phrase, pages(phrase)]))));
