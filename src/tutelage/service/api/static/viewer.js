SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null, // nothing is fetched from another site
});
